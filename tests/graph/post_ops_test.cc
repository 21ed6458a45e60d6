// Fusion depends only on what layers report (Layer::as_post_op, Layer::accepts). The layers here do nothing else.

#include "kernels/post_ops.h"

#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "layers/registry.h"

namespace cortado {
namespace {

using kernels::Activation;
using kernels::ChannelAffine;
using kernels::PostOps;

/// Its result has x's shape.
class StandIn : public Layer {
 public:
  explicit StandIn(const LayerOptions& options) : training_(options.phase == caffe::TRAIN) {}
  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context&, const Operands&) override {}

 protected:
  bool training_;
};

class Clip final : public StandIn {
 public:
  using StandIn::StandIn;
  std::optional<kernels::PostOp> as_post_op() const override { return Activation::clipped_relu(3); }
};

class Shift final : public StandIn {
 public:
  using StandIn::StandIn;
  LayerShapes infer(const std::vector<Shape>& x) override {
    return {.y = {x[0]}, .w = {{.shape = {x[0][1]}, .filler = {}}}};
  }
  std::optional<kernels::PostOp> as_post_op() const override { return ChannelAffine{.shifts = true}; }
};

class Add final : public StandIn {
 public:
  using StandIn::StandIn;
  std::optional<kernels::PostOp> as_post_op() const override { return kernels::SumOfTwo(); }
};

/// Accepts every post-op in every net.
class Taker final : public StandIn {
 public:
  using StandIn::StandIn;
  bool accepts(const PostOps&, NetMode) const override { return true; }
};

/// Accepts every post-op in frozen nets.
class FrozenTaker final : public StandIn {
 public:
  using StandIn::StandIn;
  bool accepts(const PostOps&, NetMode mode) const override { return mode == NetMode::kFrozen; }
};

class ReluTaker final : public StandIn {
 public:
  using StandIn::StandIn;
  bool accepts(const PostOps& post, NetMode) const override {
    return post == PostOps{.activation = Activation::relu()};
  }
};

template <typename Made>
LayerType type_named(const std::string& name) {
  return {.name = "test:" + name,
          .help = "for tests of fusion",
          .options = "",
          .min_bottoms = 1,
          .max_bottoms = 2,
          .min_tops = 1,
          .max_tops = 1,
          .make = make_layer<Made>};
}
const RegisterLayer kTypes[] = {RegisterLayer(type_named<Clip>("Clip")),
                                RegisterLayer(type_named<Shift>("Shift")),
                                RegisterLayer(type_named<Add>("Add")),
                                RegisterLayer(type_named<Taker>("Taker")),
                                RegisterLayer(type_named<FrozenTaker>("FrozenTaker")),
                                RegisterLayer(type_named<ReluTaker>("ReluTaker"))};

/// The nodes after the input once all passes up to `fuse` have run, as "type: post-ops". `chain` are the types of
/// layers, each of which reads the one before. An Add's other operand is the input.
std::vector<std::string> fused(const std::vector<std::string>& chain, bool frozen = false, bool fuse = true) {
  std::string net = "layer { name: 'in' type: 'Input' top: 'b0' input_param { shape { dim: 2 dim: 4 } } }";
  for (size_t i = 0; i < chain.size(); ++i) {
    const std::string number = std::to_string(i), next = std::to_string(i + 1);
    const std::string type = chain[i] == "ReLU" || chain[i] == "TanH" ? chain[i] : "test:" + chain[i];
    net += "layer { name: 'l" + number + "' type: '" + type + "' bottom: 'b" + number + "' " +
           (chain[i] == "Add" ? "bottom: 'b0' " : "") + "top: 'b" + next + "' }";
  }
  graph::BuildOptions options;
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  options.frozen = frozen;
  options.fuse = fuse;
  options.verify = true;
  graph::Graph graph = graph::build(std::make_shared<NetFile>(read_net_from_text(net, "net")), options);
  graph::run_passes(graph, "fuse");
  std::vector<std::string> nodes;
  for (const graph::Node& node : graph.nodes)
    if (node.type != "Input") nodes.push_back(node.type + ": " + kernels::to_text(node.post));
  return nodes;
}

using Nodes = std::vector<std::string>;

TEST(PostOpsOfNodes, FollowWhatLayersOfferAndAccept) {
  EXPECT_EQ(fused({"Taker", "Shift", "Add", "Clip"}),
            (Nodes{"test:Taker+test:Shift+test:Add+test:Clip: affine, sum, relu3"}));
  EXPECT_EQ(fused({"Taker", "Clip"}), (Nodes{"test:Taker+test:Clip: relu3"}));
  EXPECT_EQ(fused({"Taker", "ReLU"}), (Nodes{"test:Taker+ReLU: relu"}));
  EXPECT_EQ(fused({"Taker", "TanH"}), (Nodes{"test:Taker: ", "TanH: "})) << "a layer without a post-op stays";
  EXPECT_EQ(fused({"TanH", "Clip"}), (Nodes{"TanH: ", "test:Clip: "})) << "a layer that accepts nothing merges nothing";
}

TEST(PostOpsOfNodes, AreAcceptedAsAWhole) {
  EXPECT_EQ(fused({"ReluTaker", "ReLU"}), (Nodes{"test:ReluTaker+ReLU: relu"}));
  EXPECT_EQ(fused({"ReluTaker", "Clip"}), (Nodes{"test:ReluTaker: ", "test:Clip: "}));
  EXPECT_EQ(fused({"ReluTaker", "Shift", "ReLU"}), (Nodes{"test:ReluTaker: ", "test:Shift: ", "ReLU: "}));
}

TEST(PostOpsOfNodes, KeepTheirOrder) {
  EXPECT_EQ(fused({"Taker", "Clip", "Shift"}), (Nodes{"test:Taker+test:Clip: relu3", "test:Shift: "}));
  EXPECT_EQ(fused({"Taker", "ReLU", "Clip"}), (Nodes{"test:Taker+ReLU: relu", "test:Clip: "}));
  EXPECT_EQ(fused({"Taker", "Add", "Shift"}), (Nodes{"test:Taker+test:Add: sum", "test:Shift: "}));
}

TEST(PostOpsOfNodes, DependOnTheMode) {
  EXPECT_EQ(fused({"FrozenTaker", "Shift", "Add", "Clip"}, /*frozen=*/true),
            (Nodes{"test:FrozenTaker+test:Shift+test:Add+test:Clip: affine, sum, relu3"}));
  EXPECT_EQ(fused({"FrozenTaker", "Shift"}), (Nodes{"test:FrozenTaker: ", "test:Shift: "}));
  EXPECT_EQ(fused({"Taker", "Clip"}, false, /*fuse=*/false), (Nodes{"test:Taker: ", "test:Clip: "}));
}

}  // namespace
}  // namespace cortado
