// Chooses how each value is stored: its layout, and its type where the plan has 16-bit values or 8-bit integers. Layers
// for which a device's libraries are fastest in one layout (blocks of 16 channels on the CPU, channels last for 16-bit
// values on a GPU) write values in it. Layers after them keep it, and a Reorder is inserted only where a reader
// requires another one. A layer that can write any layout uses that of its only reader.

#include <map>

#include "graph/passes/passes.h"
#include "layers/type_names.h"

namespace cortado::graph {

namespace {

struct Storage {
  Layout layout = Layout::kPlain;
  Encoding encoding = {};
  auto operator<=>(const Storage&) const = default;
};

class ChooseLayoutsChooser {
 public:
  explicit ChooseLayoutsChooser(Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      choose(node);
      graph_.nodes.push_back(std::move(node));
    }
    index_readers(graph_);
    if (graph_.options.preferred_layout != Layout::kBlocked16) write_what_readers_want();
  }

 private:
  Value& value(ValueId id) { return graph_.value(id); }
  bool has_layout(ValueId id) { return value(id).shape_known && value(id).shape.axes() == 4; }
  Storage stored(ValueId id) { return {has_layout(id) ? value(id).layout : Layout::kPlain, value(id).encoding()}; }

  void choose(Node& node) {
    if (node.eight_bits) return choose_integers(node);
    const LayoutRule rule = storage_of(node).layout;
    const Layout layout = rule == LayoutRule::kPreferred ? preferred(node)
                          : rule == LayoutRule::kFollow  ? followed(node)
                                                         : Layout::kPlain;
    const bool blocked = layout == Layout::kBlocked16;
    for (size_t i = 0; i < node.x.size(); ++i) {
      const Storage have = stored(node.x[i]);
      const bool stays = rule == LayoutRule::kPreferred && blocked && i == 0 && storage_of(node).accepts_plain_x &&
                         have.layout != Layout::kChannelsLast;
      read(node, i, {has_layout(node.x[i]) && !stays ? layout : have.layout, {type_of_x(node, i)}});
    }
    for (size_t i = 0; i < node.y.size(); ++i) {
      value(node.y[i]).dtype = type_of_y(node);
      if (has_layout(node.y[i])) value(node.y[i]).layout = layout;
    }
  }

  void choose_integers(Node& node) {
    const EightBits& e = *node.eight_bits;
    const bool computes = storage_of(node).eight_bits == EightBitRule::kComputes;
    for (size_t i = 0; i < node.x.size(); ++i) {
      const Encoding wanted = i == 0 || !computes ? e.x : summand(e.y, value(node.x[i]).encoding());
      read(node, i, {layout_of_integers(node, node.x[i]), wanted});
    }
    Value& y = value(node.y[0]);
    y.layout = layout_of_integers(node, node.y[0]);
    y.dtype = e.y.dtype;
    y.scale = e.y.scale;
  }

  /// The encoding of a sum's other operand: as wide as the result, but integers keep their own scale.
  static Encoding summand(const Encoding& result, const Encoding& have) {
    if (is_8_bit(result.dtype) && is_8_bit(have.dtype)) return have;
    return result.dtype == DType::kU8 ? Encoding{DType::kS8, result.scale / 2} : result;
  }

  Layout layout_of_integers(const Node& node, ValueId id) {
    return has_layout(id) && !wants_plain_integers(node) ? Layout::kChannelsLast : Layout::kPlain;
  }

  void read(Node& node, size_t i, const Storage& wanted) {
    if (stored(node.x[i]) != wanted) read_reordered(node, i, wanted);
  }

  Layout preferred(const Node& node) const {
    const Layout layout = graph_.options.preferred_layout;
    return layout == Layout::kBlocked16 && !storage_of(node).suits_blocks ? Layout::kPlain : layout;
  }

  /// The first operand layout that is not plain: one reorder per other operand suffices.
  Layout followed(const Node& node) {
    for (const ValueId id : node.x)
      if (!has_layout(id)) return Layout::kPlain;
    for (const ValueId id : node.x)
      if (value(id).layout == graph_.options.preferred_layout) return value(id).layout;
    for (const ValueId id : node.x)  // written by a neighbour that runs on integers
      if (value(id).layout != Layout::kPlain) return preferred(node);
    return Layout::kPlain;
  }

  DType type_of_x(const Node& node, size_t i) {
    switch (storage_of(node).type) {
      case TypeRule::kHalf:
        return graph_.options.value_type;
      case TypeRule::kFollow:
        return float_type(node.x[0]);
      case TypeRule::kReads:
        return i == 0 ? float_type(node.x[0]) : DType::kF32;
      default:
        return DType::kF32;
    }
  }

  /// The value's type, or the one that integers are converted to.
  DType float_type(ValueId id) { return is_8_bit(value(id).dtype) ? DType::kF32 : value(id).dtype; }

  DType type_of_y(const Node& node) {
    const TypeRule rule = storage_of(node).type;
    if (rule == TypeRule::kHalf) return graph_.options.value_type;
    return rule == TypeRule::kFollow && !node.x.empty() ? float_type(node.x[0]) : DType::kF32;
  }

  static std::string name_of_copy(const Value& from, const Storage& wanted) {
    std::string name = from.name + "_as";
    if (wanted.layout != from.layout) name += "_" + name_of(wanted.layout);
    if (wanted.encoding != from.encoding()) name += "_" + name_of(wanted.encoding.dtype);
    return name;
  }

  void read_reordered(Node& node, size_t i, Storage wanted) {
    const ValueId from = node.x[i];
    const auto [found, is_new] = reordered_.emplace(std::make_pair(from, wanted), ValueId(graph_.values.size()));
    if (is_new) {
      Value copy = value(from);
      copy.layout = wanted.layout;
      copy.dtype = wanted.encoding.dtype;
      copy.scale = wanted.encoding.scale;
      copy.loss_weight = 0;
      copy.kept = false;
      copy.wants_gradient = false;
      graph_.values.push_back(std::move(copy));
      Node reorder;
      reorder.type = type_names::kReorder;
      reorder.name = name_of_copy(value(from), wanted);
      reorder.layer = make_internal_layer(graph_, type_names::kReorder);
      reorder.layer->infer({value(from).shape});
      reorder.x = {from};
      reorder.y = {found->second};
      reorder.wants_dx = {false};
      reorder_node_[found->second] = graph_.nodes.size();
      graph_.nodes.push_back(std::move(reorder));
    }
    node.x[i] = found->second;
    if (!node.wants_dx[i]) return;  // at most one reader of a value writes a gradient
    Node& reorder = graph_.nodes[reorder_node_[found->second]];
    reorder.wants_dx = {true};
    reorder.runs_backward = true;
    value(found->second).wants_gradient = true;
  }

  void write_what_readers_want() {
    std::vector<bool> gone(graph_.nodes.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      Node& maker = graph_.nodes[n];
      if (storage_of(maker).type != TypeRule::kMakes || maker.y.empty()) continue;
      const Value& made = value(maker.y[0]);
      if (made.kept || made.readers.size() != 1) continue;
      const size_t reader = size_t(made.readers[0].node);
      if (graph_.nodes[reader].type != type_names::kReorder) continue;
      maker.y[0] = graph_.nodes[reader].y[0];
      for (auto& [name, id] : graph_.names)
        if (id == graph_.nodes[reader].x[0]) id = maker.y[0];
      gone[reader] = true;
    }
    std::vector<Node> nodes;
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (!gone[n]) nodes.push_back(std::move(graph_.nodes[n]));
    graph_.nodes = std::move(nodes);
    index_readers(graph_);
  }

  Graph& graph_;
  std::map<std::pair<ValueId, Storage>, ValueId> reordered_;
  std::map<ValueId, size_t> reorder_node_;
};

}  // namespace

void choose_layouts(Graph& graph) { ChooseLayoutsChooser(graph).run(); }

}  // namespace cortado::graph
