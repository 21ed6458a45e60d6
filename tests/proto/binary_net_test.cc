#include "proto/files/binary_net.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/error.h"
#include "core/files/file.h"
#include "formats/wire.h"
#include "proto/text/write_text.h"
#include "tests/harness/errors.h"
#include "tests/harness/places.h"

namespace cortado {
namespace {

std::string bytes(uint32_t number, const std::string& content) { return field_head(number, content.size()) + content; }

caffe::NetParameter net_of(const std::string& content) { return binary_net_from_bytes(content, "net.caffemodel").net; }

void expect_net(const std::string& content, const std::string& text) {
  caffe::NetParameter expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &expected));
  EXPECT_EQ(net_of(content).DebugString(), expected.DebugString());
}

std::string error_of(const std::string& content) {
  return error_of([&] { net_of(content); }, ExitCode::kNet);
}

TEST(BinaryNet, IsTheNetWithoutItsBlobs) {
  caffe::NetParameter net;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString("name: 'n' layer { name: 'c' type: 'Convolution' convolution_param "
                                                    "{ num_output: 2 kernel_size: 3 } param { lr_mult: 2 }\n"
                                                    "  blobs { shape { dim: 2 } data: 1 data: 2 } }",
                                                    &net));
  const std::string content = net.SerializeAsString();
  net.mutable_layer(0)->clear_blobs();
  EXPECT_EQ(net_of(content).DebugString(), net.DebugString());
  EXPECT_EQ(parse_net(content, "n").layer(0).blobs(0).data(1), 2);
}

TEST(BinaryNet, OldLayersAreUpgraded) {
  caffe::NetParameter net;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "layers { name: 'c' type: CONVOLUTION blobs_lr: 3 blobs { num: 1 channels: 1 height: 1 width: 1 data: 1 } }\n"
      "layers { layer { name: 'i' type: 'innerproduct' num_output: 4 blobs { data: 7 } } bottom: 'c' top: 'i' }",
      &net));
  expect_net(net.SerializeAsString(),
             "layer { name: 'c' type: 'Convolution' param { lr_mult: 3 } }\n"
             "layer { name: 'i' type: 'InnerProduct' bottom: 'c' top: 'i' inner_product_param { num_output: 4 } }");
}

// Field numbers of NVIDIA's caffe.proto.
TEST(BinaryNet, NvidiasNumbersAreConverted) {
  const std::string layer = bytes(1, "bn") + bytes(2, "BatchNorm") + bytes(139, number_field(7, 1)) +
                            number_field(145, 2) + number_field(146, 1) + bytes(151, number_field(1, 9));
  expect_net(bytes(100, layer),
             "layer { name: 'bn' type: 'BatchNorm' batch_norm_param { scale_bias: true } forward_type: FLOAT16\n"
             "  backward_type: FLOAT recurrent_param { num_output: 9 } }");
}

// Field numbers of Intel's caffe.proto.
TEST(BinaryNet, IntelsNumbersAreConverted) {
  const std::string norm = number_field(4, 4) + number_field(5, 1) + number_field(6, 0) + bytes(7, bytes(1, "msra"));
  const std::string layer = bytes(1, "bn") + bytes(139, norm) + bytes(149, "MKLDNN") + bytes(106, number_field(19, 1)) +
                            bytes(121, number_field(13, 0));
  expect_net(
      bytes(100, layer),
      "layer { name: 'bn' engine: 'MKLDNN' convolution_param { relu: true } pooling_param { avg_include_pad: false }\n"
      "  batch_norm_param { engine: MKLDNN use_weight_bias: true bias_term: false filler { type: 'msra' } } }");
  const auto loss = [&](int normalization) {
    const std::string content = bytes(100, bytes(149, "MKLDNN") + bytes(101, number_field(3, uint64_t(normalization))));
    return net_of(content).layer(0).loss_param().normalization();
  };
  EXPECT_EQ(loss(1), caffe::LossParameter::VALID);
  EXPECT_EQ(loss(3), caffe::LossParameter::PRE_FIXED);
  EXPECT_EQ(loss(4), caffe::LossParameter::NONE);
}

TEST(BinaryNet, FilesThatExpandAreErrors) {
  std::string many;
  for (int i = 0; i < 400'000; ++i) many += bytes(100, "");
  EXPECT_NE(error_of(many).find("more than 300000 parts"), std::string::npos);
  EXPECT_NE(error_of(bytes(100, bytes(118, "\xff"))).find("at byte"), std::string::npos);
  EXPECT_NE(error_of(bytes(1, "n") + bytes(100, "\x0a\x05").substr(0, 4)), "");
}

TEST(WriteText, ReadsBackToTheSameMessage) {
  for (const auto& entry : std::filesystem::directory_iterator(in_source("tests/proto/data"))) {
    const std::string text = read_file(entry.path());
    caffe::NetParameter net, again;
    caffe::SolverParameter solver, solver_again;
    if (entry.path().string().find("solver") != std::string::npos) {
      read_message_from_text(text, entry.path(), solver);
      read_message_from_text(to_text(solver), "written", solver_again);
      EXPECT_EQ(solver_again.SerializeAsString(), solver.SerializeAsString());
    } else {
      net = read_net_from_text(text, entry.path()).net;
      read_message_from_text(to_text(net), "written", again);
      EXPECT_EQ(again.SerializeAsString(), net.SerializeAsString());
    }
  }
}

TEST(WriteText, ValuesKeepTheirBits) {
  caffe::NetParameter net, again;
  caffe::LayerParameter& layer = *net.add_layer();
  layer.set_name("quotes \" and ' and \\ and\n\xc3\xa9");
  for (const float value : {0.1f, 1e-45f, 3.4028235e38f, 16777217.0f, 0.3333333433f, -0.0f})
    layer.add_loss_weight(value);
  layer.mutable_batch_norm_param()->set_eps(2e-5f);
  read_message_from_text(to_text(net), "written", again);
  EXPECT_EQ(again.SerializeAsString(), net.SerializeAsString());
}

TEST(WriteText, FieldsAreInTheUsualOrder) {
  caffe::SolverParameter solver;
  solver.set_base_lr(0.1f);
  solver.set_net("n.prototxt");
  EXPECT_EQ(to_text(solver), "net: \"n.prototxt\"\nbase_lr: 0.1\n");
}

}  // namespace
}  // namespace cortado
