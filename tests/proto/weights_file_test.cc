#include "proto/weights/weights_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

#include "core/error.h"
#include "core/files/file.h"
#include "tests/harness/errors.h"

namespace cortado {
namespace {

/// Binary messages encoded by hand, in ways that generated code would not.
class Wire {
 public:
  Wire& number(int field, uint64_t value) { return tag(field, 0).varint(value); }
  Wire& bytes(int field, const std::string& value) {
    tag(field, 2).varint(value.size());
    text_ += value;
    return *this;
  }
  Wire& fixed32(int field, float value) {
    tag(field, 5);
    text_.append(reinterpret_cast<const char*>(&value), 4);
    return *this;
  }
  Wire& fixed64(int field, double value) {
    tag(field, 1);
    text_.append(reinterpret_cast<const char*>(&value), 8);
    return *this;
  }
  Wire& varint(uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += char(value | 128);
    text_ += char(value);
    return *this;
  }
  operator const std::string&() const { return text_; }

 private:
  Wire& tag(int field, int type) { return varint(uint64_t(field) << 3 | uint64_t(type)); }
  std::string text_;
};

template <typename T>
std::string packed(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// A net of one layer with one blob.
std::string net_with(const std::string& blob) {
  return Wire().bytes(1, "net").bytes(100, Wire().bytes(1, "ip").bytes(2, "InnerProduct").bytes(7, blob));
}

BlobFile only_blob(const std::string& blob) { return weights_from_bytes(net_with(blob), "w").at(0).blobs.at(0); }

std::string error_of(const std::function<void()>& action) { return error_of(action, ExitCode::kSnapshot); }

std::string error_in(const std::string& content) {
  return error_of([&] { weights_from_bytes(content, "w.caffemodel"); });
}

caffe::NetParameter sample_net() {
  caffe::NetParameter net;
  net.set_name("net");
  for (const char* name : {"data", "conv1", "ip1"}) {
    caffe::LayerParameter& layer = *net.add_layer();
    layer.set_name(name);
    layer.set_type(name == std::string("ip1") ? "InnerProduct" : "Convolution");
    if (name == std::string("data")) continue;
    for (int blob = 0; blob < 2; ++blob) {
      caffe::BlobProto& proto = *layer.add_blobs();
      proto.mutable_shape()->add_dim(3);
      proto.mutable_shape()->add_dim(4);
      for (int i = 0; i < 12; ++i) {
        proto.add_data(float(i) / 3 + float(blob));
        proto.add_diff(-1);
      }
    }
  }
  return net;
}

class WeightsFileTest : public testing::Test {
 protected:
  ~WeightsFileTest() override { std::filesystem::remove(path_); }
  std::string path_ = testing::TempDir() + "cortado_weights_test_" + std::to_string(::getpid());
};

TEST_F(WeightsFileTest, ReadsBackWhatWasWritten) {
  const caffe::NetParameter net = sample_net();
  std::string digest;
  const std::string written = write_weights(path_, net);
  const std::vector<LayerWeights> layers = read_weights(path_, &digest);
  EXPECT_EQ(digest, written);
  EXPECT_EQ(digest, digest_of(read_file(path_)));
  ASSERT_EQ(layers.size(), 2u) << "layers without weights are skipped";
  EXPECT_EQ(layers[0].name, "conv1");
  EXPECT_EQ(layers[1].type, "InnerProduct");
  ASSERT_EQ(layers[1].blobs.size(), 2u);
  EXPECT_EQ(layers[1].blobs[1].shape, Shape({3, 4}));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(layers[1].blobs[1].data[size_t(i)], net.layer(2).blobs(1).data(i));
  caffe::NetParameter parsed;
  EXPECT_TRUE(parsed.ParseFromString(read_file(path_)));
  parsed.DiscardUnknownFields();  // its checksum
  EXPECT_EQ(parsed.SerializeAsString(), net.SerializeAsString());
}

TEST_F(WeightsFileTest, ReadsBackABlobFile) {
  const BlobFile mean{Shape{1, 3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5f}};
  write_blob_file(path_, mean);
  const BlobFile read = read_blob_file(path_);
  EXPECT_EQ(read.shape, mean.shape);
  EXPECT_EQ(read.data, mean.data);
  caffe::BlobProto message;
  to_message(mean, message);
  EXPECT_EQ(from_message(message, "history 0").data, mean.data);
  message.add_data(1);
  EXPECT_NE(error_of([&] { from_message(message, "history 0"); }).find("history 0"), std::string::npos);
}

TEST(Weights, FourExtentsOfOldFiles) {
  const BlobFile blob =
      only_blob(Wire().number(1, 1).number(2, 1).number(3, 2).number(4, 3).bytes(5, packed<float>({1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(blob.shape, Shape({1, 1, 2, 3}));
  EXPECT_EQ(blob.data[5], 6);
}

TEST(Weights, EveryEncodingOfValues) {
  const std::string shape = Wire().bytes(1, Wire().varint(2).varint(1));
  const std::vector<float> expected = {1.5f, -2};
  EXPECT_EQ(only_blob(Wire().bytes(7, shape).bytes(5, packed<float>({1.5, -2}))).data, expected);
  EXPECT_EQ(only_blob(Wire().bytes(7, shape).fixed32(5, 1.5f).fixed32(5, -2)).data, expected) << "not packed";
  EXPECT_EQ(only_blob(Wire().bytes(5, packed<float>({1.5})).bytes(7, shape).bytes(5, packed<float>({-2}))).data,
            expected)
      << "in pieces";
  EXPECT_EQ(only_blob(Wire().bytes(7, shape).bytes(8, packed<double>({1.5, -2}))).data, expected);
  EXPECT_EQ(only_blob(Wire().bytes(7, shape).fixed64(8, 1.5).fixed64(8, -2)).data, expected);
  EXPECT_EQ(only_blob(Wire().bytes(7, Wire().number(1, 2).number(1, 1)).bytes(5, packed<float>({1.5, -2}))).data,
            expected);
  EXPECT_EQ(only_blob(Wire().bytes(7, shape).number(10, 1).bytes(12, packed<float>({1.5, -2}))).data, expected)
      << "NVIDIA";
  EXPECT_EQ(only_blob(Wire().bytes(7, shape).number(10, 0).bytes(12, packed<double>({1.5, -2}))).data, expected);
  EXPECT_EQ(only_blob(Wire().bytes(7, shape).number(10, 2).bytes(12, packed<uint16_t>({0x3e00, 0xc000}))).data,
            expected);
  EXPECT_EQ(only_blob(Wire().bytes(7, "").bytes(5, packed<float>({7}))).shape, Shape()) << "a scalar";
}

// By the definition of half precision: sign, exponent biased by 15, ten bits of fraction.
TEST(Weights, HalfPrecisionIsWidenedExactly) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = uint16_t(i);
  const BlobFile blob = only_blob(Wire().bytes(7, Wire().number(1, 65536)).number(10, 2).bytes(12, packed(halves)));
  for (int i = 0; i < 65536; ++i) {
    const int exponent = i >> 10 & 31, fraction = i & 1023;
    double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) value = INFINITY;
    if (i & 0x8000) value = -value;
    if (exponent == 31 && fraction != 0)
      EXPECT_TRUE(std::isnan(blob.data[size_t(i)])) << i;
    else
      EXPECT_EQ(blob.data[size_t(i)], float(value)) << i;
    EXPECT_EQ(std::signbit(blob.data[size_t(i)]), (i & 0x8000) != 0) << i;
  }
}

TEST(Weights, LayersOf2014And2013) {
  const std::string blob = Wire().bytes(7, "").bytes(5, packed<float>({1}));
  const std::string v1 = Wire().bytes(4, "old").number(5, 14).bytes(6, blob);
  const std::string v0 = Wire().bytes(1, Wire().bytes(1, "oldest").bytes(2, "conv").bytes(50, blob));
  const auto layers = weights_from_bytes(std::string(Wire().bytes(1, "n").bytes(2, v1).bytes(2, v0)), "w");
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].name, "old");
  EXPECT_EQ(layers[0].type, "InnerProduct");
  EXPECT_EQ(layers[1].name, "oldest");
  EXPECT_EQ(layers[1].type, "Convolution");
  EXPECT_EQ(layers[1].blobs.size(), 1u);
}

TEST(BadWeights, TruncationNamesTheByte) {
  const std::string whole = sample_net().SerializeAsString();
  for (size_t size = 2; size < whole.size(); ++size) {
    const std::string content = whole.substr(0, size);
    caffe::NetParameter net;
    if (net.ParseFromString(content)) continue;  // truncated between two layers
    const std::string error = error_in(content);
    EXPECT_NE(error.find("truncated at byte " + std::to_string(size) + " of "), std::string::npos) << error;
  }
}

TEST(BadWeights, MismatchesOfShapeNameLayerAndBlob) {
  const std::string error =
      error_in(net_with(Wire().bytes(7, Wire().number(1, 1'000'000'000)).bytes(5, packed<float>({1}))));
  EXPECT_NE(error.find("layer 'ip', blob 0: its shape is 1000000000, which is 1000000000 values, but it has 1"),
            std::string::npos)
      << error;
  const auto fails = [&](const std::string& blob, const std::string& message) {
    const std::string text = error_in(net_with(blob));
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  fails(Wire().bytes(7, Wire().number(1, 1)), "it has 0");
  fails(Wire().bytes(7, Wire().number(1, uint64_t(-1))).bytes(5, packed<float>({1})), "the extent -1");
  fails(Wire().bytes(7, Wire().number(1, 1ull << 40).number(1, 1ull << 40)).bytes(5, packed<float>({1})), "overflows");
  fails(Wire().bytes(5, "123"), "3 bytes of values of 4 bytes each");
  fails(Wire().number(10, 5).bytes(12, "12"), "raw_data of type 5");
  Wire axes;
  for (int i = 0; i < 33; ++i) axes.number(1, 1);
  fails(Wire().bytes(7, axes).bytes(5, packed<float>({1})), "more than 32 axes");
}

TEST(BadWeights, InvalidLengthsAreCorrupt) {
  const std::string lying =
      Wire().bytes(1, "n").bytes(100, std::string("\x3a\x7f", 2)).bytes(100, std::string(200, '\0'));
  EXPECT_NE(error_in(lying).find("corrupt at byte"), std::string::npos) << error_in(lying);
}

TEST(BadWeights, OtherKindsOfFilesAreNamed) {
  caffe::SolverState state;
  state.set_iter(100);
  state.set_learned_net("a.caffemodel");
  state.add_history()->add_data(1);
  const std::string error = error_in(state.SerializeAsString());
  EXPECT_NE(error.find("a solver state, where a weights file is expected"), std::string::npos) << error;
  EXPECT_NE(error.find("--snapshot"), std::string::npos) << error;
  EXPECT_NE(error_in("name: 'net'\nlayer { }").find("a text file"), std::string::npos);
  EXPECT_NE(error_in("\x89PNG\r\n\x1a\n...IHDR").find("a picture"), std::string::npos);
  EXPECT_NE(error_in("PK\x03\x04...net/data.pkl").find("a compressed archive"), std::string::npos);
  EXPECT_NE(error_in("").find("an empty file"), std::string::npos);
  EXPECT_NE(error_in("\x89HDF\r\n\x1a\n....").find("an HDF5 file"), std::string::npos);
  EXPECT_NE(error_in(Wire().number(1, 1).number(2, 3).bytes(5, "1234")).find("a single blob"), std::string::npos);
}

TEST(BadWeights, AnInvalidMeanIsADataError) {
  const std::string path = testing::TempDir() + "cortado_mean_" + std::to_string(::getpid());
  write_file_atomically(path, net_with(""));
  EXPECT_NE(error_of([&] { read_blob_file(path); }, ExitCode::kData).find("where a single blob is expected"),
            std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cortado
