// Which layout each four-axis value is stored in. Layers that a library runs fastest in blocks of 16 channels make blocked
// values, layers that follow pass them on, and a Reorder stands only where a reader insists on something else.

#include <map>

#include "graph/passes/passes.h"
#include "layers/registry.h"

namespace cortado::graph {

namespace {

const caffe::LayerParameter& reorder_config() {
  static const caffe::LayerParameter config = [] {
    caffe::LayerParameter made;
    made.set_type("Reorder");
    return made;
  }();
  return config;
}

class Chooser {
 public:
  explicit Chooser(Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      choose(node);
      graph_.nodes.push_back(std::move(node));
    }
    index_readers(graph_);
  }

 private:
  Value& value(ValueId id) { return graph_.values[size_t(id)]; }
  bool has_layout(ValueId id) { return value(id).shape_known && value(id).shape.axes() == 4; }

  void choose(Node& node) {
    const LayoutRule rule = node.layer->layouts();
    const Layout layout = rule == LayoutRule::kBlocked ? Layout::kBlocked16
                          : rule == LayoutRule::kFollow ? followed(node)
                                                        : Layout::kPlain;
    for (size_t i = 0; i < node.x.size(); ++i) {
      const bool stays = rule == LayoutRule::kBlocked && i == 0 && node.layer->accepts_plain_x();
      if (has_layout(node.x[i]) && value(node.x[i]).layout != layout && !stays) read_reordered(node, i, layout);
    }
    for (const ValueId id : node.y)
      if (has_layout(id)) value(id).layout = layout;
  }

  /// Blocked if any operand is: then one reorder brings the others there.
  Layout followed(const Node& node) {
    for (const ValueId id : node.x)
      if (!has_layout(id)) return Layout::kPlain;
    for (const ValueId id : node.x)
      if (value(id).layout != Layout::kPlain) return value(id).layout;
    return Layout::kPlain;
  }

  void read_reordered(Node& node, size_t i, Layout layout) {
    const ValueId from = node.x[i];
    const auto [found, is_new] = reordered_.emplace(std::make_pair(from, layout), ValueId(graph_.values.size()));
    if (is_new) {
      Value copy = value(from);
      copy.layout = layout;
      copy.loss_weight = 0;
      copy.kept = false;
      copy.wants_gradient = false;
      graph_.values.push_back(std::move(copy));
      Node reorder;
      reorder.type = "Reorder";
      reorder.name = value(from).name + "_as_" + name_of(layout);
      reorder.layer = find_layer_type("Reorder")->make({reorder_config(), graph_.phase(), 0, 1, false});
      reorder.layer->infer({value(from).shape});
      reorder.x = {from};
      reorder.y = {found->second};
      reorder.wants_dx = {false};
      reorder_node_[found->second] = graph_.nodes.size();
      graph_.nodes.push_back(std::move(reorder));
    }
    node.x[i] = found->second;
    if (!node.wants_dx[i]) return;  // at most one reader of a value sends a gradient
    Node& reorder = graph_.nodes[reorder_node_[found->second]];
    reorder.wants_dx = {true};
    reorder.runs_backward = true;
    value(found->second).wants_gradient = true;
  }

  Graph& graph_;
  std::map<std::pair<ValueId, Layout>, ValueId> reordered_;
  std::map<ValueId, size_t> reorder_node_;
};

}  // namespace

void choose_layouts(Graph& graph) { Chooser(graph).run(); }

}  // namespace cortado::graph
