#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "proto/weights/weights_file.h"
#include "proto/weights/weights_origin.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

std::string written() {
  caffe::NetParameter net;
  net.set_name("n");
  for (const char* name : {"a", "b"}) {
    caffe::LayerParameter& layer = *net.add_layer();
    layer.set_name(name);
    layer.add_blobs()->add_data(1.5f);
  }
  const std::string path = testing::TempDir() + "cortado_weights_checksum." + std::to_string(::getpid());
  write_weights(path, net);
  const std::string bytes = read_file(path);
  std::filesystem::remove(path);
  return bytes;
}

std::string error_of(const std::string& bytes) {
  return error_of([&] { weights_from_bytes(bytes, "w.caffemodel"); }, ExitCode::kSnapshot);
}

TEST(WeightsChecksum, AWholeFileIsRead) { EXPECT_EQ(error_of(written()), ""); }

TEST(WeightsChecksum, AFlippedBitOfAWeightIsDetected) {
  std::string bytes = written();
  bytes[bytes.find(std::string("\0\0\xc0\x3f", 4)) + 2] ^= 1;
  EXPECT_NE(error_of(bytes).find("does not match its checksum"), std::string::npos) << error_of(bytes);
}

TEST(WeightsChecksum, TruncationBetweenLayersIsDetected) {
  const std::string bytes = written();
  caffe::NetParameter all, first;
  ASSERT_TRUE(all.ParseFromString(bytes));
  *first.add_layer() = all.layer(1);
  const std::string cut = bytes.substr(0, bytes.size() - first.ByteSizeLong() - checksum_field(0).size());
  ASSERT_TRUE(first.ParseFromString(cut)) << "it is a valid message";
  ASSERT_EQ(first.layer_size(), 1);
  EXPECT_NE(error_of(cut).find("its checksum is missing"), std::string::npos) << error_of(cut);
}

/// Protobuf keeps unknown fields, but writes them after the known ones.
TEST(WeightsChecksum, FilesRewrittenByOthersAreNotChecked) {
  caffe::NetParameter net;
  ASSERT_TRUE(net.ParseFromString(written()));
  net.mutable_layer(0)->mutable_blobs(0)->set_data(0, 2);
  const std::string bytes = net.SerializeAsString();
  ASSERT_NE(bytes.find(checksum_field(0)), std::string::npos) << "kept";
  EXPECT_EQ(error_of(bytes), "");
}

/// Files of Caffe, and of versions of Cortado without checksums.
TEST(WeightsChecksum, AFileWithoutChecksumIsRead) {
  caffe::NetParameter net;
  ASSERT_TRUE(net.ParseFromString(written()));
  net.DiscardUnknownFields();
  EXPECT_EQ(error_of(net.SerializeAsString()), "");
}

}  // namespace
}  // namespace cortado
