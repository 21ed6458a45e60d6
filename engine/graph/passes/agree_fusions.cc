// Lets neighbours agree on a fusion: one does a part of the other's work (layers/fusion.h). Both layers must offer the
// kind, and the value between them and its other readers must allow it.

#include "graph/passes/followers.h"
#include "graph/passes/passes.h"

namespace cortado::graph {

namespace {

/// Whether the value has one reader, and only that writes its gradient.
bool gets_gradient(const Graph& graph, const Value& value) {
  return value.wants_gradient && value.loss_weight == 0 && value.readers.size() == 1 &&
         graph.node(value.readers[0].node).wants_dx[size_t(value.readers[0].input)];
}

/// Whether `reader` sums two gradients.
bool sums_two(const Graph& graph, const Node& reader) {
  return reader.y.size() == 2 && gets_gradient(graph, graph.value(reader.y[0])) &&
         gets_gradient(graph, graph.value(reader.y[1]));
}

/// `maker` writes the value that `reader` reads as x[operand].
bool allows(const Graph& graph, const FusionKind& kind, const Node& maker, const Node& reader, size_t operand) {
  const Value& value = graph.value(reader.x[operand]);
  if (maker.y.size() != 1) return false;
  if (kind.one_reader && (value.readers.size() != 1 || value.kept || value.loss_weight != 0)) return false;
  if ((kind.operand || kind.sums_gradients) && value.dynamic_rows) return false;
  if (kind.sums_gradients && !sums_two(graph, reader)) return false;
  return !kind.in_backward || reader.wants_dx[operand];
}

/// Adds the kind's operand as the producer's last y and the reader's last x.
void add_operand(Graph& graph, const FusionKind& kind, Node& maker, Fusion& made, Node& reader, Fusion& read) {
  const Value& of = graph.value(reader.x[read.operand]);
  Value added;
  added.name = of.name + "_" + kind.name;
  added.shape = kind.operand(of.shape);
  added.shape_known = true;
  const ValueId id = ValueId(graph.values.size());
  graph.values.push_back(std::move(added));
  made.added = maker.y.size();
  maker.y.push_back(id);
  read.added = reader.x.size();
  reader.x.push_back(id);
  reader.wants_dx.push_back(false);
}

void agree_on(Graph& graph, const FusionKind& kind) {
  for (Node& reader : graph.nodes) {
    std::optional<Fusion> read = fusion_offered(graph, reader, kind, Fusion::kReader);
    if (!read || read->operand >= reader.x.size()) continue;
    Node& maker = graph.node(graph.value(reader.x[read->operand]).producer);
    std::optional<Fusion> made = fusion_offered(graph, maker, kind, Fusion::kMaker);
    if (!made || !allows(graph, kind, maker, reader, read->operand)) continue;
    if (kind.operand) add_operand(graph, kind, maker, *made, reader, *read);
    maker.fusions.push_back(*made);
    reader.fusions.push_back(*read);
  }
  index_readers(graph);
}

void agree(Graph& graph, bool before_storage) {
  if (!may_merge(graph)) return;
  for (const FusionKind* kind : all_fusion_kinds())
    if (kind->before_storage == before_storage && std::ranges::count(graph.options.switch_off, kind->name) == 0)
      agree_on(graph, *kind);
}

}  // namespace

std::optional<Fusion> fusion_offered(const Graph& graph, const Node& node, const FusionKind& kind, Fusion::Side side) {
  const std::vector<Fusion> offered =
      node.layer->fusions({.post = node.post, .mode = mode_of(graph), .device = graph.options.batch_norm});
  const Fusion* found = find_fusion(offered, kind, side);
  return found ? std::optional(*found) : std::nullopt;
}

void agree_fusions(Graph& graph) { agree(graph, true); }
void agree_stored_fusions(Graph& graph) { agree(graph, false); }

}  // namespace cortado::graph
