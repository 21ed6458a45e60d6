#include "proto/weights/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

/// A file with this header, of any length, and `bytes` bytes of values.
std::string file_with(const std::string& header, size_t bytes, uint64_t length = 0) {
  if (length == 0) length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(bytes, '\0');
}

std::string error_in(const std::string& content) {
  const auto read = [&] {
    WeightsOrigin origin;
    read_safetensors({"w.safetensors", content, ExitCode::kSnapshot}, origin);
  };
  return error_of(read, ExitCode::kSnapshot);
}

void expect_error(const std::string& header, size_t bytes, const std::string& words) {
  const std::string error = error_in(file_with(header, bytes));
  EXPECT_NE(error.find(words), std::string::npos) << header << "\n" << error;
}

std::string tensor(const std::string& name, const std::string& begin, const std::string& end,
                   const std::string& shape = "[1]", const std::string& dtype = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" + begin + "," +
         end + "]}";
}

TEST(Safetensors, ReadsBackWhatWasWritten) {
  const std::string path = testing::TempDir() + "safetensors_test_" + std::to_string(::getpid());
  const std::vector<LayerWeights> layers = {{"a.b/\"c\"", "InnerProduct", {{Shape{2, 1}, {1, -2}}, {Shape{}, {3}}}},
                                            {"empty", "Bias", {{Shape{0}, {}}}},
                                            {"0", "Scale", {{Shape{1, 1, 1}, {0.1f}}}}};
  const std::string written = write_safetensors(path, layers, "net");
  std::string digest;
  WeightsOrigin origin;
  const std::vector<LayerWeights> read = read_weights(path, &digest, &origin);
  EXPECT_EQ(digest, written);
  EXPECT_EQ(origin.net, "net");
  ASSERT_EQ(read.size(), layers.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].name, layers[i].name);
    EXPECT_EQ(read[i].type, layers[i].type);
    ASSERT_EQ(read[i].blobs.size(), layers[i].blobs.size());
    for (size_t k = 0; k < read[i].blobs.size(); ++k) {
      EXPECT_EQ(read[i].blobs[k].shape, layers[i].blobs[k].shape);
      EXPECT_EQ(read[i].blobs[k].data, layers[i].blobs[k].data);
    }
  }
  std::filesystem::remove(path);
}

TEST(Safetensors, NamesThatAreNotUtf8AreErrors) {
  EXPECT_THROW(write_safetensors("/tmp/never", {{"\xff", "Bias", {{Shape{}, {1}}}}}, ""), Error);
  EXPECT_THROW(write_safetensors("/tmp/never", {{"a", "Bias", {}}, {"a", "Bias", {}}}, ""), Error);
}

TEST(BadSafetensors, InvalidOffsets) {
  expect_error("{" + tensor("a.0", "0", "4") + "," + tensor("b.0", "0", "4") + "}", 4, "overlaps another");
  expect_error("{" + tensor("a.0", "0", "4") + "," + tensor("b.0", "2", "6") + "}", 6, "overlaps another");
  expect_error("{" + tensor("a.0", "4", "8") + "}", 8, "has a gap before it");
  expect_error("{" + tensor("a.0", "0", "4") + "}", 8, "8 bytes of values, but the header describes only 4");
  expect_error("{" + tensor("a.0", "0", "4") + "}", 3, "truncated: 3 bytes of values");
  expect_error("{" + tensor("a.0", "4", "0") + "}", 4, "has an end before its begin");
  expect_error("{" + tensor("a.0", "0", "8") + "}", 8, "8 bytes do not fill its shape 1 of F32");
  expect_error("{" + tensor("a.0", "0", "4", "[4611686018427387904,4]") + "}", 4, "do not fill its shape");
  expect_error("{" + tensor("a.0", "0", "4", "[4294967296,4294967296,4294967296]") + "}", 4, "do not fill its shape");
  expect_error("{" + tensor("a.0", "0", "18446744073709551616") + "}", 4, "not an integer");
}

TEST(BadSafetensors, InvalidHeaders) {
  EXPECT_NE(error_in("1234567").find("truncated at byte 7 of 8"), std::string::npos);
  EXPECT_NE(error_in(file_with("{}", 0, 1'000'000'000'000)).find("the limit is 100000000"), std::string::npos);
  EXPECT_NE(error_in(file_with("{}", 0, 500)).find("truncated at byte 10 of 508"), std::string::npos);
  expect_error("[]", 0, "does not begin with '{'");
  expect_error("{" + tensor("a.0", "0", "4") + "," + tensor("a.0", "4", "8") + "}", 8, "is duplicate");
  expect_error("{\"a.0\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4,
               "'dtype' is duplicate");
  expect_error("{\"a.0\":{\"dtype\":\"F32\",\"shape\":[]}}", 4, "are required");
  expect_error("{\"a.0\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0]}}", 4, "two numbers");
  expect_error("{\"a.0\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4,4]}}", 4, "two numbers");
  expect_error("{\"a.0\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "negative");
  expect_error("{\"a.0\":{\"dtype\":{},\"shape\":[],\"data_offsets\":[0,4]}}", 4, "an object nested");
  expect_error("{\"a.0\":7}", 4, "near tensor 'a.0'");
  expect_error("{" + tensor("a.0", "0", "4") + "} {}", 4, "not valid JSON at byte");
  expect_error("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "duplicate metadata key");
  expect_error("{\"a.0\":" + std::string(1 << 20, '['), 0, "an unexpected list");
}

TEST(BadSafetensors, TensorsThatAreNotWeights) {
  expect_error("{" + tensor("a.0", "0", "4", "[1]", "I32") + "}", 4, "is of type 'I32'");
  expect_error("{" + tensor("features.weight", "0", "4") + "}", 4, "which is 'conv1.0'");
  expect_error("{" + tensor("a.00", "0", "4") + "}", 4, "which is 'conv1.0'");
  expect_error("{" + tensor("a.1", "0", "4") + "}", 4, "a blob before it is missing");
  expect_error("{" + tensor("a.18446744073709551615", "0", "4") + "}", 4, "a blob before it is missing");
}

}  // namespace
}  // namespace cortado
