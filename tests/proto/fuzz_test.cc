// Mutations of real files with a fixed seed. A reader must return a message or throw an Error, and must accept a text
// exactly if protobuf's parser does. Other exceptions, crashes and sanitizer reports fail the test. CORTADO_FUZZ_ROUNDS
// multiplies the number of mutations.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "core/rng.h"
#include "proto/files/binary_net.h"
#include "proto/files/override.h"
#include "proto/files/read_text.h"
#include "proto/weights/weights_file.h"
#include "tests/harness/places.h"

namespace cortado {
namespace {

class Quiet : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
};

int rounds() {
  const char* text = std::getenv("CORTADO_FUZZ_ROUNDS");
  return text != nullptr ? std::max(1, std::atoi(text)) : 1;
}

/// Changes, removes, duplicates or inserts bytes and pieces, some of them from the other parent.
std::string mutate(RandomStream& random, const std::string& parent, const std::string& other,
                   const std::vector<std::string>& pieces) {
  std::string child = parent;
  for (uint64_t changes = 1 + random.below(4); changes > 0 && !child.empty(); --changes) {
    const size_t at = random.below(child.size());
    const size_t length = 1 + random.below(std::min<size_t>(child.size() - at, 40));
    const size_t from = random.below(other.size());
    switch (random.below(6)) {
      case 0:
        child[at] = char(random.below(256));
        break;
      case 1:
        child.erase(at, length);
        break;
      case 2:
        child.insert(at, child.substr(at, length));
        break;
      case 3:
        child.insert(at, pieces[random.below(pieces.size())]);
        break;
      case 4:
        child.insert(at, other.substr(from, 1 + random.below(60)));
        break;
      case 5:
        child.resize(at);
        break;
    }
  }
  return child;
}

std::vector<std::string> texts() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(in_source("tests/proto/data")))
    if (entry.path().string().find("solver") == std::string::npos && entry.file_size() < 8000)
      texts.push_back(read_file(entry.path()));
  std::sort(texts.begin(), texts.end());  // folder iteration order is unspecified
  texts.push_back(
      "layers { layer { type: 'conv' pad: 1 } bottom: 'a' } layers { type: RELU blobs_lr: 1 } input: 'x' input_dim: "
      "4\n");
  return texts;
}

TEST(Fuzz, MutatedTextsAreAcceptedAsByProtobuf) {
  const std::vector<std::string> seeds = texts();
  const std::vector<std::string> pieces = {
      "{",  "}",          "<",  ">",  "[",  "]",   ":",  ",",       ";",      "\"",  "'",    "\\",
      "#",  "-",          "\n", "0x", "08", "1e9", ".5", "layer {", "name: ", "nan", "true", "99999999999999999999",
      "\t", "input: 'a'", "_",  "f"};
  RandomStream random(20);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 2000 * rounds(); ++i) {
    const std::string text =
        mutate(random, seeds[random.below(seeds.size())], seeds[random.below(seeds.size())], pieces);
    caffe::NetParameter expected, message;
    Quiet quiet;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&quiet);
    const bool good = parser.ParseFromString(text, &expected);
    bool read = true;
    try {
      read_message_from_text(text, "n", message);
    } catch (const Error& error) {
      read = false;
      EXPECT_FALSE(error.mistakes().empty());
    }
    ASSERT_EQ(read, good) << "mutation " << i << ":\n" << text;
    if (good) {
      ASSERT_EQ(message.SerializePartialAsString(), expected.SerializePartialAsString()) << text;
    }
    good ? ++accepted : ++refused;
    try {
      read_net_from_text(text, "n");
    } catch (const Error&) {
    }
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 50);
}

TEST(Fuzz, MutatedOverridesAreAcceptedOrErrors) {
  const std::vector<std::string> seeds = {"net.layer[conv].convolution_param.pad+=[1, 2]",
                                          "net.layer[\"a]b\"].param[0]={ lr_mult: 2 name: 'x' }",
                                          "net.name=text without quotes",
                                          "solver.net_param.layer[0].top[0]='a'",
                                          "net.layer[1].clip_param.min=-1.5e3",
                                          "net.state={ phase: TRAIN stage: \"s\" }"};
  const std::vector<std::string> pieces = {"[", "]", "=",   "+=",    ".", "{", "}", "\"", "'",
                                           ",", ":", "net", "layer", "0", "-", "#", "\n"};
  const std::string text =
      "name: 'n' layer { name: 'conv' type: 'Convolution' } layer { name: 'a]b' param { } top: 't' }";
  RandomStream random(22);
  int taken = 0, refused = 0;
  for (int i = 0; i < 5000 * rounds(); ++i) {
    const auto one = [&] {
      return mutate(random, seeds[random.below(seeds.size())], seeds[random.below(seeds.size())], pieces);
    };
    const std::vector<std::string> words = {seeds[random.below(seeds.size())], one()};
    NetFile file = read_net_from_text(text, "n");
    try {
      const Overrides overrides(words);
      overrides.apply(file);
      ++taken;
      EXPECT_TRUE(file.net.IsInitialized()) << words[1];
    } catch (const Error& error) {
      ++refused;
      ASSERT_FALSE(error.mistakes().empty());
      EXPECT_EQ(error.mistakes()[0].place.file, "--set") << words[1] << "\n" << error.what();
    }
  }
  EXPECT_GT(taken, 50);
  EXPECT_GT(refused, 50);
}

/// Mutations of `whole` yield either no more values than they have bytes, or an Error.
void expect_read_or_refused(const std::string& whole, const std::vector<std::string>& pieces, uint64_t seed) {
  RandomStream random(seed);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20'000 * rounds(); ++i) {
    const std::string content = mutate(random, whole, whole, pieces);
    try {
      size_t values = 0;
      for (const LayerWeights& layer : weights_from_bytes(content, "w"))
        for (const BlobFile& blob : layer.blobs) {
          ASSERT_EQ(size_t(blob.shape.count()), blob.data.size());
          values += blob.data.size();
        }
      EXPECT_LE(values, content.size());
      ++accepted;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ExitCode::kSnapshot);
      ++refused;
    }
  }
  EXPECT_GT(accepted, 10);
  EXPECT_GT(refused, 10);
}

TEST(Fuzz, MutatedSafetensorsAreReadOrErrors) {
  const std::string header =
      R"({"__metadata__":{"net":"n","type:bn":"BatchNorm"},"a.0":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("bn.0":{"dtype":"F16","shape":[2],"data_offsets":[16,20]},)"
      R"("bn.1":{"dtype":"BF16","shape":[2],"data_offsets":[20,24]},)"
      R"("bn.2":{"dtype":"F64","shape":[],"data_offsets":[24,32]}})";
  const std::string whole = std::string(1, char(header.size() & 255)) + char(header.size() >> 8) +
                            std::string(6, '\0') + header + std::string("0123456789abcdefghijklmnopqrstuv");
  ASSERT_EQ(weights_from_bytes(whole, "w").size(), 2u);
  expect_read_or_refused(
      whole, {"[", "]", "{", "}", ",", "\"", "-", "0", "99999999999999999999", "null", "1e3", "\\u0000"}, 22);
}

TEST(Fuzz, MutatedWeightsAreReadOrErrors) {
  caffe::NetParameter net;
  net.set_name("net");
  for (int i = 0; i < 4; ++i) {
    caffe::LayerParameter& layer = *net.add_layer();
    layer.set_name("layer" + std::to_string(i));
    layer.set_type(i == 3 ? "BatchNorm" : "InnerProduct");
    caffe::BlobProto& blob = *layer.add_blobs();
    blob.mutable_shape()->add_dim(10 + i);
    for (int k = 0; k < 10 + i; ++k) i == 2 ? blob.add_double_data(k) : blob.add_data(float(k));
    caffe::BlobProto& raw = *layer.add_blobs();
    raw.set_num(1), raw.set_channels(1), raw.set_height(1), raw.set_width(2);
    raw.set_raw_data_type(caffe::FLOAT16);
    raw.set_raw_data("abcd");
  }
  const std::string whole = net.SerializeAsString();
  const std::vector<std::string> pieces = {
      "\x3a\x04", "\xff\xff\xff\xff\x7f", "\x2a", std::string("\0", 1), "\xa2\x06\x02", "\x12\x01", "\x08\x01"};
  expect_read_or_refused(whole, pieces, 21);
}

TEST(Fuzz, MutatedBinaryNetsAreReadOrErrors) {
  std::vector<std::string> seeds;
  for (const std::string& text : texts()) {
    caffe::NetParameter net;
    read_message_from_text(text, "n", net);
    if (net.layer_size() > 0) net.mutable_layer(0)->add_blobs()->add_data(1);
    seeds.push_back(net.SerializePartialAsString());
    net.mutable_layer()->Clear();
    net.add_layer()->mutable_batch_norm_param()->set_eps(1);
    seeds.push_back(net.SerializePartialAsString() + "\xa2\x06\x0d\xaa\x09\x01x\xda\x08\x06\x20\x04\x28\x01\x30\x01");
  }
  const std::vector<std::string> pieces = {"\xff\xff\xff\xff\x7f",         "\xa2\x06\x02",      "\x12\x01", "\x08\x01",
                                           std::string("\x90\x09\x01", 3), std::string("\0", 1)};
  RandomStream random(23);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 5'000 * rounds(); ++i) {
    const std::string content =
        mutate(random, seeds[random.below(seeds.size())], seeds[random.below(seeds.size())], pieces);
    try {
      const caffe::NetParameter net = binary_net_from_bytes(content, "n").net;
      for (const caffe::LayerParameter& layer : net.layer()) ASSERT_EQ(layer.blobs_size(), 0);
      ++accepted;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ExitCode::kNet);
      ++refused;
    }
    try {
      parse_net(content, "n");
    } catch (const Error&) {
    }
  }
  EXPECT_GT(accepted, 10);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace cortado
