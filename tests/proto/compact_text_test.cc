#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "proto/cortado.pb.h"
#include "proto/files/read_text.h"
#include "proto/text/write_text.h"

namespace cortado {

namespace {

caffe::LayerParameter layer_of(const std::string& text) {
  caffe::LayerParameter layer;
  read_message_from_text(text, "layer", layer);
  return layer;
}

TEST(CompactText, IsOneLineIfItFits) {
  EXPECT_EQ(to_compact_text("layer", layer_of("name: 'r' type: 'ReLU' bottom: 'a' top: 'a'")),
            "layer { name: \"r\" type: \"ReLU\" bottom: \"a\" top: \"a\" }\n");
  EXPECT_EQ(to_compact_text("layer", layer_of("")), "layer { }\n");
}

TEST(CompactText, BreaksLongLines) {
  const std::string text =
      "layer {\n"
      "  name: \"ip1\" type: \"InnerProduct\" bottom: \"pool2\" top: \"ip1\"\n"
      "  param { lr_mult: 1 } param { lr_mult: 2 }\n"
      "  inner_product_param { num_output: 500 weight_filler { type: \"xavier\" } }\n"
      "}\n";
  const caffe::LayerParameter layer = layer_of(text.substr(7, text.size() - 9));
  EXPECT_EQ(to_compact_text("layer", layer), text);
}

TEST(CompactText, ReadsBackToTheSame) {
  std::string data = "name: \"a \\\"b\\n\" type: 'Data' top: 'data' top: 'label' transform_param { scale: 0.0111 ";
  for (int i = 0; i < 40; ++i) data += "mean_value: " + std::to_string(i) + ".1 ";
  data += "augment { flip_h: 0.5 resized_crop { } border: EDGE } } data_param { source: 'x' backend: LMDB }";
  const caffe::LayerParameter layer = layer_of(data);
  const std::string text = to_compact_text("layer", layer);
  caffe::NetParameter net;
  read_message_from_text(text, "net", net);
  ASSERT_EQ(net.layer_size(), 1);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(net.layer(0), layer)) << text;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) EXPECT_LE(end - at, 120U);
}

}  // namespace

}  // namespace cortado
