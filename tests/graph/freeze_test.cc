// Frozen layers: which layers still run backward.

#include "graph/freeze.h"

#include <gtest/gtest.h>

#include "graph/passes/passes.h"

namespace cortado {
namespace {

const char* const kNet = R"(
  layer { name: "in" type: "Input" top: "data" top: "label" input_param {
      shape { dim: 2 dim: 3 dim: 8 dim: 8 } shape { dim: 2 } } }
  layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
      convolution_param { num_output: 4 kernel_size: 3 } }
  layer { name: "bn1" type: "BatchNorm" bottom: "conv1" top: "bn1" }
  layer { name: "pool" type: "Pooling" bottom: "bn1" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
  layer { name: "a/conv2" type: "Convolution" bottom: "pool" top: "conv2"
      param { name: "w" lr_mult: 1 } convolution_param { num_output: 4 kernel_size: 1 bias_term: false } }
  layer { name: "twin" type: "Convolution" bottom: "conv2" top: "twin"
      param { name: "w" lr_mult: 1 } convolution_param { num_output: 4 kernel_size: 1 bias_term: false } }
  layer { name: "ip" type: "InnerProduct" bottom: "twin" top: "ip" inner_product_param { num_output: 3 } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";

graph::Graph frozen(const std::vector<std::string>& patterns, const std::string& net = kNet) {
  graph::BuildOptions options;
  options.state.set_phase(caffe::TRAIN);
  options.freeze = patterns;
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net_from_text(net, "net.prototxt")), options);
  graph::run_passes(graph, "mark_backward");
  return graph;
}

std::vector<std::string> running_backward(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes)
    if (node.runs_backward) names.push_back(node.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Freeze, backward_stops_where_nothing_below_learns) {
  EXPECT_EQ(running_backward(frozen({})), (Names{"conv1", "bn1", "pool", "a/conv2", "twin", "ip", "loss"}));
  EXPECT_EQ(running_backward(frozen({"conv*"})), (Names{"a/conv2", "twin", "ip", "loss"}));
  EXPECT_EQ(running_backward(frozen({"conv1", "*conv2"})), (Names{"ip", "loss"})) << "twin shares a frozen weight";
  EXPECT_EQ(running_backward(frozen({"twin"})), (Names{"conv1", "bn1", "pool", "a/conv2", "twin", "ip", "loss"}))
      << "conv1 learns, so gradients pass";
}

TEST(Freeze, counts_every_weight_once) {
  EXPECT_EQ(graph::count_frozen(frozen({})), 0);
  EXPECT_EQ(graph::count_frozen(frozen({"conv1"})), 4 * 27 + 4);
  EXPECT_EQ(graph::count_frozen(frozen({"a/conv2", "twin"})), 16);
  EXPECT_EQ(graph::layers_that_keep(frozen({"a/*"})), (Names{"a/conv2", "twin"}));
}

TEST(Freeze, a_frozen_batch_norm_uses_its_averages) {
  const auto global = [](const graph::Graph& graph) {
    return graph.layers[2].config->batch_norm_param().use_global_stats();
  };
  EXPECT_FALSE(global(frozen({"conv1"})));
  EXPECT_TRUE(global(frozen({"bn?"})));
  EXPECT_TRUE(global(frozen({"[bc]*1"})));
}

TEST(Freeze, so_does_a_frozen_bn_that_keeps_running_statistics) {
  const auto file = std::make_shared<NetFile>(read_net_from_text(R"(
      layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 2 dim: 3 } } }
      layer { name: "bn1" type: "BN" bottom: "x" top: "y" bn_param { slope_filler { value: 1 } } }
      layer { name: "bn2" type: "SyncBN" bottom: "y" top: "z" }
      layer { name: "bn3" type: "BN" bottom: "z" top: "t" bn_param { bn_mode: LEARN } })",
                                                                 "net.prototxt"));
  const auto changed = graph::with_frozen_averages(file, {"bn*"});
  EXPECT_TRUE(changed->net.layer(1).bn_param().frozen());
  EXPECT_TRUE(changed->net.layer(2).bn_param().frozen());
  EXPECT_FALSE(changed->net.layer(3).bn_param().has_frozen());
}

TEST(Freeze, patterns_without_matches_are_errors) {
  const auto message = [](const std::vector<std::string>& patterns) -> std::string {
    try {
      frozen(patterns);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_NE(message({"conv1", "pool"}).find("--freeze=pool matches no layer with weights"), std::string::npos);
  for (const char* pattern : {"pi", "*pi*"})
    EXPECT_NE(message({pattern}).find("did you mean 'ip'?"), std::string::npos) << pattern;
  EXPECT_NE(message({"conv*", "bn*", "a/*", "twin", "ip"}).find("nothing is left to train"), std::string::npos);
}

TEST(Freeze, the_message_lists_twelve_layers) {
  const auto message = [](int layers) -> std::string {
    std::string net = "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }";
    for (int i = 0; i < layers; ++i)
      net += "layer { name: 'ip" + std::to_string(i) + "' type: 'InnerProduct' bottom: 'x' top: 'y" +
             std::to_string(i) + "' inner_product_param { num_output: 3 } }";
    try {
      frozen({"none"}, net);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const std::string all = "layers with weights: ip0, ip1, ip2, ip3, ip4, ip5, ip6, ip7, ip8, ip9, ip10, ip11";
  EXPECT_TRUE(message(12).ends_with(all)) << message(12);
  EXPECT_TRUE(message(13).ends_with(all + ", ...")) << message(13);
}

}  // namespace
}  // namespace cortado
