#include "formats/tensor_header.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cortado {
namespace {

std::vector<TensorEntry> parsed(const std::string& json) { return parse_tensor_header(json); }

TEST(TensorHeader, ReadsBackInTheOrderOfTheValues) {
  const std::string head = tensor_header({{"z", "F32", {2, 3}}, {"a/b \"c\"", "U8", {}}, {"m", "I64", {1}}});
  ASSERT_EQ(tensor_header_length(head.substr(0, 8)), head.size() - 8);
  const std::vector<TensorEntry> entries = parsed(head.substr(8));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "z");
  EXPECT_EQ(entries[1].name, "a/b \"c\"");
  EXPECT_EQ(entries[1].shape, Shape());
  EXPECT_EQ(entries[2].type, "I64");
  EXPECT_EQ(entries[0].bytes() + entries[1].bytes() + entries[2].bytes(), 24 + 1 + 8);
}

TEST(TensorHeader, IsRecognisedAsSafetensors) {
  EXPECT_EQ(tensor_header({{"x", "F32", {2}}}),
            std::string("\x36\0\0\0\0\0\0\0", 8) + R"({"x":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}})");
}

TEST(TensorHeader, MismatchesAreErrors) {
  for (const char* json : {"", "[]", "{", "{\"x\":1}", R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,7]}})",
                           R"({"x":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})",
                           R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
                           R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                           R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
                           R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
                           R"({"x":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})"})
    EXPECT_THROW(parsed(json), std::invalid_argument) << json;
  EXPECT_THROW(tensor_header({{"x", "F32", {2}}, {"x", "F32", {2}}}), std::invalid_argument);
}

}  // namespace
}  // namespace cortado
