#include "proto/weights/file_kind.h"

#include <gtest/gtest.h>

#include "proto/cortado.pb.h"

namespace cortado {
namespace {

/// For names of any length: some lengths are encoded as blanks of a text.
TEST(FileKind, ANetWithOnlyANameIsAWeightsFile) {
  for (size_t length = 1; length < 400; ++length) {
    caffe::NetParameter net;
    net.set_name(std::string(length, 'g'));
    EXPECT_EQ(kind_of_content(net.SerializeAsString()), FileKind::kWeights) << length;
  }
}

TEST(FileKind, TextsMayBeginWithBlanks) {
  for (const std::string text : {"\n\nname: 'ab'", "\n\tlayer { }\n", "\n", "\n\n", "\n layers", "name: 'a'"})
    EXPECT_EQ(kind_of_content(text), FileKind::kText) << text;
}

}  // namespace
}  // namespace cortado
