#include "graph/deploy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "formats/npy.h"
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

TEST(Deploy, InputsMayHaveNoAxes) {
  const NetFile net = read_net_from_text("layer { type: 'Input' top: 'x' input_param { shape { } } }", "net.prototxt");
  EXPECT_EQ(sample_shape(net, 0, "x"), Shape());
  EXPECT_EQ(written_batch(net, 0, "x"), 0);
}

/// The mean image of a dataset that is not here has its extents.
TEST(Deploy, AnUnknownShapeHasTheExtentsOfTheMeanInItsHint) {
  const std::string mean = testing::TempDir() + "/mean.npy";
  write_npy(mean, {3, 6, 5}, std::vector<float>(90, 1).data());
  const auto hint = [&](const std::string& fields) {
    const NetFile net = read_net_from_text(
        "layer { name: 'd' type: 'Data' top: 'x' data_param { source: 'none' "
        "batch_size: 2 } transform_param { " +
            fields + " } }",
        "net.prototxt");
    try {
      return sample_shape(net, 0, "x").str();
    } catch (const Error& e) {
      return e.mistakes()[0].hint;
    }
  };
  EXPECT_EQ(hint(""), "set it with --shape=1,CHANNELS,HEIGHT,WIDTH");
  EXPECT_EQ(hint("crop_size: 4"), "set it with --shape=1,CHANNELS,4,4");
  EXPECT_EQ(hint("crop_size: 4 mean_value: 1"), "set it with --shape=1,CHANNELS,4,4") << "for any number";
  EXPECT_EQ(hint("mean_value: 1 mean_value: 2"), "set it with --shape=1,2,HEIGHT,WIDTH");
  EXPECT_EQ(hint("mean_file: '" + mean + "'"), "1x3x6x5");
  EXPECT_EQ(hint("crop_size: 4 mean_file: '" + mean + "'"), "1x3x4x4");
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
      "multibox_loss_param { num_classes: 5 code_type: CENTER_SIZE share_location: false background_label_id: 2 "
      "encode_variance_in_target: true } }";
  const Deployed made = deployed(text);
  EXPECT_EQ(made.outputs, std::vector<std::string>{"detection_out"});
  const caffe::LayerParameter& output = *made.net.layer().rbegin();
  EXPECT_EQ(output.type(), "DetectionOutput");
  EXPECT_EQ(output.bottom(0), "loc");
  EXPECT_EQ(output.bottom(1), "conf_flatten");
  ASSERT_EQ(output.bottom_size(), 3);
  EXPECT_EQ(output.bottom(2), "prior");
  const caffe::DetectionOutputParameter& options = output.detection_output_param();
  EXPECT_EQ(options.num_classes(), 5u);
  EXPECT_EQ(options.code_type(), caffe::PriorBoxParameter::CENTER_SIZE);
  EXPECT_FALSE(options.share_location());
  EXPECT_EQ(options.background_label_id(), 2);
  EXPECT_TRUE(options.variance_encoded_in_target());
  EXPECT_FLOAT_EQ(options.confidence_threshold(), 0.01f) << "this and the following as SSD's deploy nets";
  EXPECT_FLOAT_EQ(options.nms_param().nms_threshold(), 0.45f);
  EXPECT_EQ(options.nms_param().top_k(), 400);
  EXPECT_EQ(options.keep_top_k(), 200);
}

/// RefineDet's loss has two more bottoms, which its DetectionOutput reads, too.
TEST(Deploy, DetectionOutputReadsAnchors) {
  const Deployed made = deployed(
      kData + product("loc") + product("conf") + product("prior") + product("arm_conf") + product("arm_loc") +
      "layer { name: 'l' type: 'MultiBoxLoss' bottom: 'loc' bottom: 'conf' bottom: 'prior' bottom: 'label' bottom: "
      "'arm_conf' bottom: 'arm_loc' top: 'l' multibox_loss_param { num_classes: 5 } }");
  const caffe::LayerParameter& output = *made.net.layer().rbegin();
  ASSERT_EQ(output.bottom_size(), 5);
  EXPECT_EQ(output.bottom(3), "arm_conf");
  EXPECT_EQ(output.bottom(4), "arm_loc");
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

/// Of losses on the same labels the heaviest stays, and of equal ones the last. 1 is the weight of a loss without one.
TEST(Deploy, KeepsTheLastOfTheHeaviestLosses) {
  const auto kept = [](const std::vector<std::string>& weights, bool together = true) {
    std::string text =
        kData + "layer { name: 'other' type: 'DummyData' top: 'mark' dummy_data_param { shape { dim: 2 } } }";
    for (size_t i = 0; i < weights.size(); ++i) {
      const std::string name = "p" + std::to_string(i);
      text += product(name) + "layer { name: 'l" + name + "' type: 'EuclideanLoss' bottom: '" + name + "' bottom: '" +
              (together || i == 0 ? "label" : "mark") + "' top: 'l" + name + "' " +
              (weights[i].empty() ? "" : "loss_weight: " + weights[i]) + "}";
    }
    const Deployed made = deployed(text);
    EXPECT_EQ(made.notes.size(), weights.size() - made.outputs.size());
    EXPECT_EQ(size_t(made.net.layer_size()), 1 + made.outputs.size());
    std::string outputs;
    for (const std::string& output : made.outputs) outputs += output + " ";
    return outputs;
  };
  EXPECT_EQ(kept({""}), "p0 ");
  EXPECT_EQ(kept({"", ""}), "p1 ");
  EXPECT_EQ(kept({"", "", ""}), "p2 ");
  EXPECT_EQ(kept({"2", ""}), "p0 ");
  EXPECT_EQ(kept({"", "2"}), "p1 ");
  EXPECT_EQ(kept({"1", ""}), "p1 ");
  EXPECT_EQ(kept({"", "1"}), "p1 ");
  EXPECT_EQ(kept({"0.3", "1", "0.3"}), "p1 ") << "GoogLeNet's";
  EXPECT_EQ(kept({"0.3", "0.3", ""}), "p2 ");
  EXPECT_EQ(kept({"3", "1", "3", "1"}), "p2 ");
  EXPECT_EQ(kept({"3", "0"}), "p0 ");
  EXPECT_EQ(kept({"0", "0"}), "p1 ");
  EXPECT_EQ(kept({"3", "1"}, /*together=*/false), "p0 p1 ") << "of different labels";
  EXPECT_EQ(kept({"3", "1", "1"}, /*together=*/false), "p0 p2 ");
}

/// Every layer that stays, whether it computes predictions, shares weights or is an input.
TEST(Deploy, LeavesNothingOfTheTraining) {
  const std::string trained =
      "loss_weight: 0.5 propagate_down: false include { phase: TEST } "
      "param { name: 'w' lr_mult: 2 decay_mult: 3 } param { lr_mult: 0 } "
      "inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } } ";
  const Deployed made = deployed(
      "layer { name: 'x' type: 'Input' top: 'x' include { phase: TEST } input_param { shape { dim: 2 dim: 3 } } } " +
      kData + "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' " + trained +
      "layer { name: 'b' type: 'InnerProduct' bottom: 'a' top: 'b' " + trained +
      "layer { name: 'c' type: 'InnerProduct' bottom: 'b' top: 'c' loss_weight: 2 exclude { phase: TRAIN } "
      "param { lr_mult: 2 } inner_product_param { num_output: 3 } } "
      "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' phase: TEST loss_weight: 3 propagate_down: true } "
      "layer { name: 'l' type: 'EuclideanLoss' bottom: 'c' bottom: 'label' top: 'l' loss_weight: 4 }");
  ASSERT_EQ(made.net.layer_size(), 5);
  for (const caffe::LayerParameter& layer : made.net.layer()) {
    SCOPED_TRACE(layer.name());
    EXPECT_EQ(layer.loss_weight_size(), 0);
    EXPECT_EQ(layer.propagate_down_size(), 0);
    EXPECT_EQ(layer.include_size() + layer.exclude_size(), 0);
    EXPECT_FALSE(layer.has_phase());
    EXPECT_FALSE(layer.inner_product_param().has_weight_filler());
    for (const caffe::ParamSpec& param : layer.param()) EXPECT_FALSE(param.has_lr_mult() || param.has_decay_mult());
    const bool shares = layer.name() == "a" || layer.name() == "b";
    EXPECT_EQ(layer.param_size(), shares ? 2 : 0);
    if (shares) {
      EXPECT_EQ(layer.param(0).name(), "w");
    }
  }
}

/// A weight does not make a layer a loss: without labels, it computes what the net is for.
TEST(Deploy, KeepsLayersWithALossWeightButWithoutLabels) {
  int types = 0;
  for (const LayerType* type : all_layer_types()) {
    if (type->loss || type->kind != LayerKind::kComputing || type->max_tops == 0) continue;
    SCOPED_TRACE(type->name);
    ++types;
    std::string text = kData, bottoms;
    for (int i = 0; i < std::max(type->min_bottoms, 1); ++i) {
      text += product("p" + std::to_string(i));
      bottoms += " bottom: 'p" + std::to_string(i) + "'";
    }
    if (type->loss_by_weight) continue;  // Python
    const Deployed made =
        deployed(text + "layer { name: 'z' type: '" + type->name + "'" + bottoms + " top: 'z' loss_weight: 2 }");
    EXPECT_EQ(made.outputs, std::vector<std::string>{"z"});
    EXPECT_TRUE(has_type(made.net, type->name));
    EXPECT_EQ(made.net.layer(made.net.layer_size() - 1).loss_weight_size(), 0);
  }
  EXPECT_GE(types, 80);
}

std::string dummy(const std::string& tops, const std::string& options) {
  return "layer { name: 'dummy' type: 'DummyData' " + tops + " dummy_data_param { " + options + " } } ";
}

constexpr char kReads[] = "layer { name: 'y' type: 'Eltwise' bottom: 'x' bottom: 'c' top: 'y' } ";
const std::string kX =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 4 dim: 1 dim: 3 dim: 3 } } }";

/// Fillers that draw make an input, those that do not a constant.
TEST(Deploy, KeepsConstants) {
  const std::map<std::string, bool> fillers = {{"constant", true}, {"bilinear", true},  {"file", true},
                                               {"uniform", false}, {"gaussian", false}, {"positive_unitball", false},
                                               {"xavier", false},  {"msra", false},     {"gaussian_unitball", false}};
  for (const auto& [filler, is_constant] : fillers) {
    SCOPED_TRACE(filler);
    const Deployed made = deployed(kX +
                                   dummy("top: 'c'", "num: 4 channels: 1 height: 3 width: 3 data_filler { type: '" +
                                                         filler + "' value: 0.5 file: 'f' }") +
                                   kReads);
    EXPECT_EQ(made.inputs, is_constant ? std::vector<std::string>{"x"} : (std::vector<std::string>{"x", "c"}));
    EXPECT_EQ(has_type(made.net, "DummyData"), is_constant);
  }
}

TEST(Deploy, KeepsTheConstantsAmongTheTopsOfALayer) {
  const Deployed made = deployed(
      kX +
      dummy("top: 'a' top: 'dummy' top: 'c' top: 'b'",
            "shape { dim: 2 } shape { dim: 4 dim: 1 dim: 3 dim: 3 } shape { dim: 4 dim: 1 dim: 3 dim: 3 } shape { } "
            "data_filler { value: 1 } data_filler { type: 'uniform' } data_filler { value: 2 } data_filler { } ") +
      kReads + "layer { name: 'c' type: 'Eltwise' bottom: 'y' bottom: 'dummy' top: 'z' } ");
  EXPECT_EQ(made.inputs, (std::vector<std::string>{"x", "dummy"}));
  ASSERT_EQ(made.net.layer_size(), 5);
  const caffe::LayerParameter& constant = made.net.layer(2);
  EXPECT_EQ(constant.name(), "c_");  // a layer is called "c"
  EXPECT_EQ(constant.type(), "DummyData");
  ASSERT_EQ(constant.top_size(), 1);
  EXPECT_EQ(constant.top(0), "c");
  ASSERT_EQ(constant.dummy_data_param().shape_size(), 1);
  EXPECT_EQ(constant.dummy_data_param().shape(0).dim_size(), 4);
  ASSERT_EQ(constant.dummy_data_param().data_filler_size(), 1);
  EXPECT_EQ(constant.dummy_data_param().data_filler(0).value(), 2);
}

/// Labels go with the loss; without other data, constants stand in for it.
TEST(Deploy, ConstantsWithoutOtherDataAreInputs) {
  const std::string loss = "layer { name: 'l' type: 'EuclideanLoss' bottom: 'p' bottom: 'label' top: 'l' }";
  for (const std::string filler : {"constant", "gaussian"}) {
    const Deployed made = deployed(dummy("top: 'data' top: 'label'", "shape { dim: 2 dim: 4 } data_filler { type: '" +
                                                                         filler + "' } data_filler { value: 1 }") +
                                   product("p") + loss);
    EXPECT_EQ(made.inputs, std::vector<std::string>{"data"});
    EXPECT_EQ(made.outputs, std::vector<std::string>{"p"});
    EXPECT_EQ(made.net.layer_size(), 2);
  }
}

/// For a composed loss, a constant among other data is not a label.
TEST(Deploy, ConstantsAreNotLabels) {
  const Deployed made = deployed(
      kData +
      dummy("top: 'zero' top: 'c'", "shape { dim: 2 dim: 3 } data_filler { value: 1 } data_filler { value: 2 }") + kX +
      kReads + product("p", "y") +
      "layer { name: 'd' type: 'Eltwise' bottom: 'p' bottom: 'label' top: 'd' } "
      "layer { name: 'l' type: 'Reduction' bottom: 'd' top: 'l' loss_weight: 1 }");
  EXPECT_EQ(made.outputs, std::vector<std::string>{"p"});
  EXPECT_EQ(made.inputs, std::vector<std::string>{"x"});
}

/// Constants of a whole batch have the rows of the new batch.
TEST(Deploy, ConstantsFollowTheBatch) {
  const auto rows = [](const Deployed& made, int layer) {
    const caffe::LayerParameter& one = made.net.layer(layer);
    return (one.type() == "Input" ? one.input_param().shape(0) : one.dummy_data_param().shape(0)).dim(0);
  };
  const std::string random =
      "layer { name: 'd' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 4 dim: 3 } "
      "data_filler { type: 'uniform' } } } ";
  for (const std::string& source : {kX, random})
    for (const int dim : {4, 3}) {
      const std::string text =
          dummy("top: 'c'", "shape { dim: " + std::to_string(dim) + " dim: 3 } data_filler { value: 1 }") + source +
          kReads;
      Deployed made = deployed(text);
      EXPECT_EQ(rows(made, 1), source == kX ? 4 : 1);
      EXPECT_EQ(rows(made, 0), dim == 4 ? rows(made, 1) : 3);
      made = make_deploy_net(read_net_from_text(text, "net.prototxt"),
                             {.state = {}, .shapes = {{"", {7, 3}}}, .outputs = {}});
      EXPECT_EQ(rows(made, 1), 7);
      EXPECT_EQ(rows(made, 0), dim == 4 ? 7 : 3);
    }
}

}  // namespace
}  // namespace cortado::graph
