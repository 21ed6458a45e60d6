#include <algorithm>

#include "core/text/text.h"
#include "graph/verify/verify.h"
#include "layers/type_names.h"

namespace cortado::graph {

namespace {

class GraphCheck {
 public:
  GraphCheck(const Graph& graph, const std::set<Invariant>& established) : graph_(graph), established_(established) {}

  std::vector<std::string> run() {
    if (!check_ids()) return faults_;  // the other checks need valid IDs
    check_order();
    check_index();
    check_sources();
    check_fusions();
    if (established_.contains(Invariant::kShapes)) check_shapes();
    if (established_.contains(Invariant::kBackward)) check_backward();
    if (established_.contains(Invariant::kOneGradient)) check_gradients();
    if (established_.contains(Invariant::kStorage)) check_storage();
    return faults_;
  }

 private:
  const Value& value(ValueId id) const { return graph_.value(id); }
  std::string name_of(ValueId id) const { return "value %" + std::to_string(id) + " '" + value(id).name + "'"; }
  static std::string name_of(const Node& node) { return "node '" + node.name + "' (" + node.type + ")"; }
  void fault(const std::string& text) { faults_.push_back(text); }

  bool check_ids() {
    const auto check = [&](const Node& node, const std::vector<int>& ids, size_t size, const char* what) {
      for (const int id : ids)
        if (id < 0 || size_t(id) >= size)
          fault(name_of(node) + " has " + what + " " + std::to_string(id) + ", which does not exist");
    };
    for (const Node& node : graph_.nodes) {
      if (!node.layer) fault(name_of(node) + " has no layer");
      check(node, node.x, graph_.values.size(), "operand");
      check(node, node.y, graph_.values.size(), "result");
      check(node, node.w, graph_.weights.size(), "weight");
      check(node, node.sources, graph_.layers.size(), "source");
    }
    for (const auto& [blob, id] : graph_.names)
      if (id < 0 || size_t(id) >= graph_.values.size()) fault("the name '" + blob + "' refers to no value");
    return faults_.empty();
  }

  /// Every value is written by one node, before any node reads it.
  void check_order() {
    std::vector<bool> written(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : node.x)
        if (!written[size_t(id)]) fault(name_of(node) + " reads " + name_of(id) + " before it is written");
      for (const ValueId id : node.y) {
        if (written[size_t(id)]) fault(name_of(node) + " writes " + name_of(id) + ", which is written already");
        written[size_t(id)] = true;
      }
    }
  }

  /// Each fusion agreed on has its counterpart, with the same further operand. Reorders may have come between them.
  void check_fusions() {
    for (const Node& node : graph_.nodes)
      for (const Fusion& fusion : node.fusions)
        if (fusion.kind->before_storage && established_.contains(Invariant::kStorage))
          continue;
        else if (fusion.side == Fusion::kReader && !has_maker(node, fusion))
          fault(name_of(node) + " takes " + fusion.kind->name + ", which the maker of " +
                name_of(node.x[fusion.operand]) + " does not offer");
        else if (fusion.side == Fusion::kMaker && !has_reader(node, fusion))
          fault(name_of(node) + " offers " + fusion.kind->name + ", which no reader of " + name_of(node.y[0]) +
                " takes");
  }
  bool has_maker(const Node& reader, const Fusion& taken) {
    const NodeId producer = value(reader.x[taken.operand]).producer;
    return producer >= 0 && fit(graph_.node(producer), reader, taken);
  }
  bool has_reader(const Node& maker, const Fusion& offered) {
    return std::ranges::any_of(value(maker.y[0]).readers, [&](const Reader& one) {
      const Node& reader = graph_.node(one.node);
      const Fusion* taken = find_fusion(reader.fusions, *offered.kind, Fusion::kReader);
      return taken && fit(maker, reader, *taken);
    });
  }
  static bool fit(const Node& maker, const Node& reader, const Fusion& taken) {
    const Fusion* offered = find_fusion(maker.fusions, *taken.kind, Fusion::kMaker);
    if (!offered || maker.y[0] != reader.x[taken.operand]) return false;
    return !taken.kind->operand || (offered->added < maker.y.size() && taken.added < reader.x.size() &&
                                    maker.y[offered->added] == reader.x[taken.added]);
  }

  void check_index() {
    std::vector<std::vector<Reader>> readers(graph_.values.size());
    std::vector<NodeId> producers(graph_.values.size(), -1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      for (size_t i = 0; i < node.x.size(); ++i) readers[size_t(node.x[i])].push_back({NodeId(n), int(i)});
      for (const ValueId id : node.y) producers[size_t(id)] = NodeId(n);
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].producer != producers[v])
        fault(name_of(ValueId(v)) + " has another producer than the nodes do");
      if (graph_.values[v].readers != readers[v]) fault(name_of(ValueId(v)) + " lists other readers than the nodes do");
    }
  }

  void check_sources() {
    std::vector<int> runs(graph_.layers.size(), 0);
    for (const Node& node : graph_.nodes)
      for (const int source : node.sources) ++runs[size_t(source)];
    for (size_t i = 0; i < runs.size(); ++i)
      if (runs[i] != 1)
        fault(layer_text(graph_.layers[i].config->name()) + " runs in " + std::to_string(runs[i]) + " nodes");
  }

  void check_shapes() {
    for (const Node& node : graph_.nodes)
      for (const ValueId id : node.y)
        for (const int64_t extent : value(id).shape.dims())
          if (value(id).shape_known && extent < 0)
            fault(name_of(id) + " has a negative extent: " + value(id).shape.str());
  }

  void check_backward() {
    for (const Node& node : graph_.nodes) {
      if (node.wants_dx.size() != node.x.size() || node.wants_dw.size() != node.w.size()) {
        fault(name_of(node) + " lacks flags for the gradients of its operands");
        continue;
      }
      const bool any = std::ranges::count(node.wants_dx, true) + std::ranges::count(node.wants_dw, true) > 0;
      if (node.runs_backward != any)
        fault(name_of(node) +
              (any ? " is asked for gradients but runs no backward" : " runs a backward that is not needed"));
      for (size_t i = 0; i < node.x.size(); ++i)
        if (node.wants_dx[i] && !value(node.x[i]).wants_gradient)
          fault(name_of(node) + " makes a gradient of " + name_of(node.x[i]) + ", which needs none");
    }
  }

  void check_gradients() {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      int makers = value.wants_gradient && value.loss_weight != 0 ? 1 : 0;
      for (const Reader& reader : value.readers) makers += graph_.node(reader.node).wants_dx[size_t(reader.input)];
      if (makers > 1) fault(name_of(ValueId(v)) + " gets its gradient from " + std::to_string(makers) + " places");
    }
  }

  // Layouts and types

  bool has_layout(ValueId id) const { return value(id).shape_known && value(id).shape.axes() == 4; }

  void check_storage() {
    for (const Node& node : graph_.nodes) {
      if (node.type == type_names::kReorder) continue;  // the pass that inserts it sets both sides
      if (node.eight_bits) {
        check_integers(node);
        continue;
      }
      check_layouts(node);
      check_types(node);
    }
  }

  void check_integers(const Node& node) {
    const auto expect = [&](ValueId id, const Encoding& wanted) {
      const bool last = has_layout(id) && !wants_plain_integers(node);
      if (value(id).encoding() != wanted || value(id).layout != (last ? Layout::kChannelsLast : Layout::kPlain))
        fault(name_of(node) + " has " + name_of(id) + " not stored as its 8-bit integers");
    };
    expect(node.x[0], node.eight_bits->x);
    expect(node.y[0], node.eight_bits->y);
    for (size_t i = 1; i < node.x.size(); ++i)
      if (is_8_bit(value(node.x[i]).dtype) != is_8_bit(value(node.y[0]).dtype))
        fault(name_of(node) + " has " + name_of(node.x[i]) + " whose size differs from its result's");
  }

  void check_layouts(const Node& node) {
    const LayoutRule rule = storage_of(node).layout;
    std::vector<ValueId> alike;
    for (size_t i = 0; i < node.x.size(); ++i)
      if (!(rule == LayoutRule::kPreferred && i == 0 && storage_of(node).accepts_plain_x)) alike.push_back(node.x[i]);
    for (size_t i = 0; i < node.y.size(); ++i)
      if (!(storage_of(node).type == TypeRule::kMakes && i == 0)) alike.push_back(node.y[i]);
    std::erase_if(alike, [&](ValueId id) { return !has_layout(id); });
    for (const ValueId id : alike) {
      const Layout wanted = rule == LayoutRule::kPlain ? Layout::kPlain : value(alike[0]).layout;
      if (value(id).layout != wanted)
        fault(name_of(node) + " has " + name_of(id) + " stored " + cortado::name_of(value(id).layout) +
              " where it needs " + cortado::name_of(wanted));
    }
  }

  static size_t count_added(const Node& node, Fusion::Side side) {
    return size_t(std::ranges::count_if(
        node.fusions, [&](const Fusion& one) { return one.side == side && one.kind->operand != nullptr; }));
  }

  void check_types(const Node& node) {
    const TypeRule rule = storage_of(node).type;
    const auto expect = [&](ValueId id, DType wanted) {
      if (value(id).dtype != wanted)
        fault(name_of(node) + " has " + name_of(id) + " of type " + cortado::name_of(value(id).dtype) +
              " where it needs " + cortado::name_of(wanted));
    };
    const DType common = rule == TypeRule::kHalf                        ? graph_.options.value_type
                         : rule == TypeRule::kFollow && !node.x.empty() ? value(node.x[0]).dtype
                                                                        : DType::kF32;
    const size_t xs = node.x.size() - count_added(node, Fusion::kReader),
                 ys = node.y.size() - count_added(node, Fusion::kMaker);
    for (size_t i = 0; i < xs; ++i)
      if (!(rule == TypeRule::kReads && i == 0)) expect(node.x[i], common);
    for (size_t i = 0; i < ys; ++i)
      if (!(rule == TypeRule::kMakes && i == 0)) expect(node.y[i], common);
    for (size_t i = xs; i < node.x.size(); ++i) expect(node.x[i], DType::kF32);
    for (size_t i = ys; i < node.y.size(); ++i) expect(node.y[i], DType::kF32);
  }

  const Graph& graph_;
  const std::set<Invariant>& established_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> find_faults(const Graph& graph, const std::set<Invariant>& established) {
  return GraphCheck(graph, established).run();
}

void throw_if_invalid(const std::vector<std::string>& faults, const std::string& stage) {
  constexpr size_t kMaxShown = 5;
  if (faults.empty()) return;
  std::string text = stage + " left an invalid graph: ";
  for (size_t i = 0; i < std::min(faults.size(), kMaxShown); ++i) text += (i ? "; " : "") + faults[i];
  if (faults.size() > kMaxShown) text += "; and " + std::to_string(faults.size() - kMaxShown) + " more";
  throw_internal(text);
}

}  // namespace cortado::graph
