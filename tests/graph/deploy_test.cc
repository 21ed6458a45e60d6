#include "graph/deploy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "layers/registry.h"

namespace cortado::graph {
namespace {

Deployed deployed(const std::string& text) { return make_deploy_net(read_net_from_text(text, "net.prototxt"), {}); }

const std::string kData = R"(
  layer { name: "data" type: "DummyData" top: "data" top: "label"
          dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 } } } )";

std::string product(const std::string& name, const std::string& bottom = "data") {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" + name +
         "' inner_product_param { num_output: 4 } } ";
}

bool has_type(const caffe::NetParameter& net, const std::string& type) {
  return std::ranges::any_of(net.layer(), [&](const caffe::LayerParameter& layer) { return layer.type() == type; });
}

/// Every loss is removed, and what it judges becomes an output, through its answer layer if it has one.
TEST(Deploy, RemovesEveryLoss) {
  int losses = 0;
  for (const LayerType* type : all_layer_types()) {
    if (!type->loss) continue;
    SCOPED_TRACE(type->name);
    ++losses;
    std::string text = kData, bottoms;
    std::vector<std::string> judged;
    for (int i = 0; i < std::max(type->min_bottoms, type->loss->judged.back() < 4 ? type->loss->judged.back() + 1 : 4);
         ++i) {
      const bool predicted = std::ranges::count(type->loss->judged, i) > 0;
      const std::string blob = predicted ? "p" + std::to_string(i) : "label";
      if (predicted) text += product(blob), judged.push_back(blob);
      bottoms += " bottom: '" + blob + "'";
    }
    const Deployed made = deployed(text + "layer { name: 'l' type: '" + type->name + "'" + bottoms + " top: 'l' }");
    EXPECT_FALSE(has_type(made.net, type->name));
    EXPECT_EQ(made.net.DebugString().find("\"label\""), std::string::npos);
    EXPECT_EQ(made.inputs, std::vector<std::string>{"data"});
    for (const std::string& blob : judged) EXPECT_NE(made.net.DebugString().find("top: \"" + blob), std::string::npos);
    if (type->loss->answer.empty())
      EXPECT_EQ(made.outputs, judged);
    else
      EXPECT_TRUE(has_type(made.net, type->loss->answer));
  }
  EXPECT_GE(losses, 20);
}

/// The test above relies on this.
TEST(Deploy, LossTypesAreMarked) {
  for (const LayerType* type : all_layer_types())
    EXPECT_TRUE(type->loss || type->name.find("Loss") == std::string::npos) << type->name;
  for (const char* type : {"Yolov3", "YoloSeg"}) EXPECT_NE(find_loss_role(type), nullptr) << type;
  for (const char* type : {"Accuracy", "Softmax", "Reduction", "Data", ""}) EXPECT_EQ(find_loss_role(type), nullptr);
}

TEST(Deploy, AddsDetectionOutputForMultiBoxLoss) {
  const std::string text =
      kData + product("loc") + product("conf") + product("prior") +
      "layer { name: 'l' type: 'MultiBoxLoss' bottom: 'loc' bottom: 'conf' bottom: 'prior' bottom: 'label' top: 'l' "
      "multibox_loss_param { num_classes: 5 code_type: CENTER_SIZE } }";
  const Deployed made = deployed(text);
  EXPECT_EQ(made.outputs, std::vector<std::string>{"detection_out"});
  const caffe::LayerParameter& output = *made.net.layer().rbegin();
  EXPECT_EQ(output.type(), "DetectionOutput");
  EXPECT_EQ(output.bottom(0), "loc");
  EXPECT_EQ(output.bottom(1), "conf_flatten");
  EXPECT_EQ(output.bottom(2), "prior");
  EXPECT_EQ(output.detection_output_param().num_classes(), 5u);
  EXPECT_EQ(output.detection_output_param().code_type(), caffe::PriorBoxParameter::CENTER_SIZE);
}

TEST(Deploy, UsesTheNetsOwnDetectionOutput) {
  const std::string text =
      kData + product("loc") + product("conf") + product("prior") +
      "layer { name: 'out' type: 'DetectionOutput' bottom: 'loc' bottom: 'conf' bottom: 'prior' top: 'found' "
      "detection_output_param { num_classes: 5 } include { phase: TEST } } "
      "layer { name: 'l' type: 'MultiBoxLoss' bottom: 'loc' bottom: 'conf' bottom: 'prior' bottom: 'label' top: 'l' "
      "multibox_loss_param { num_classes: 5 } }";
  EXPECT_EQ(deployed(text).outputs, std::vector<std::string>{"found"});
}

/// For a loss of several layers, the blobs computed without labels become outputs.
TEST(Deploy, RemovesALossOfSeveralLayers) {
  const Deployed made = deployed(kData + product("y") +
                                 "layer { name: 'd' type: 'Eltwise' bottom: 'y' bottom: 'label' top: 'd' } "
                                 "layer { name: 's' type: 'Power' bottom: 'd' top: 's' power_param { power: 2 } } "
                                 "layer { name: 'l' type: 'Reduction' bottom: 's' top: 'l' loss_weight: 1 }");
  EXPECT_EQ(made.outputs, std::vector<std::string>{"y"});
  EXPECT_EQ(made.net.layer_size(), 2);
}

}  // namespace
}  // namespace cortado::graph
