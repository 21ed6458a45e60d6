#include "proto/weights/onnx_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "proto/weights/file_kind.h"
#include "tests/harness/errors.h"

namespace cortado {

namespace {

using namespace std::string_literals;

// Message fields: a number (1), a string (2), an empty message (7).
const std::string kVersion = "\x08\x08"s, kProducer = "\x12\x01x"s, kGraph = "\x3a\x00"s;

std::string written(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

}  // namespace

TEST(OnnxFile, IsRecognisedByItsGraph) {
  EXPECT_EQ(kind_of_content(kVersion + kProducer + kGraph), FileKind::kOnnx);
  EXPECT_EQ(kind_of_content(kVersion + kProducer), FileKind::kSolverState) << "an iteration and a path";
  EXPECT_EQ(kind_of_content(kVersion + kGraph + "\x2a\x04\0\0\0\0"s), FileKind::kBlob) << "with data";
}

TEST(OnnxFile, IsRecognisedByNameIfTruncated) {
  EXPECT_TRUE(is_onnx_file(written("cut.onnx", kVersion + kProducer + "\x3a\x70"s)));
  EXPECT_FALSE(is_onnx_file(written("text.onnx", "layer { name: \"conv\" }\n")));
  EXPECT_FALSE(is_onnx_file(written("state.solverstate", kVersion + kProducer)));
  EXPECT_FALSE(is_onnx_file(testing::TempDir() + "absent.onnx"));
}

TEST(OnnxFile, ItsWeightsAreUsedOnlyWithoutOthers) {
  const std::string model = written("net.onnx", kVersion + kProducer + kGraph);
  EXPECT_EQ(weights_or_own({}, model), std::vector<std::string>{model});
  EXPECT_EQ(weights_or_own({"a.caffemodel"}, model), std::vector<std::string>{"a.caffemodel"});
  EXPECT_TRUE(weights_or_own({}, written("net.prototxt", "name: \"net\"\n")).empty());
}

TEST(OnnxFile, AMissingFileIsAnIoError) {
  expect_error([] { read_onnx_net(testing::TempDir() + "absent.onnx"); }, ExitCode::kIo, "absent.onnx");
}

}  // namespace cortado
