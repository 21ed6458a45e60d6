// Splits a value whose gradient has several sources (several readers, or a loss weight and a reader), so that each copy
// has one: Split's backward is the sum. Forward copies nothing; readers that send no gradient keep the original value.

#include "graph/passes/passes.h"
#include "layers/type_names.h"

namespace cortado::graph {

namespace {

struct Split {
  ValueId value;
  std::vector<Reader> readers;  ///< the readers that send a gradient
};

std::vector<Split> find_splits(const Graph& graph) {
  std::vector<Split> splits;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    if (!value.wants_gradient) continue;
    Split split{ValueId(v), {}};
    for (const Reader& reader : value.readers)
      if (graph.node(reader.node).wants_dx[size_t(reader.input)]) split.readers.push_back(reader);
    if (split.readers.size() + (value.loss_weight != 0 ? 1 : 0) > 1) splits.push_back(std::move(split));
  }
  return splits;
}

Node make_split(Graph& graph, const Split& split) {
  Value value = graph.value(split.value);  // a copy, because the vector grows below
  value.readers.clear();                   // recomputed at the end; copying n readers to n copies would be quadratic
  const Node& producer = graph.node(value.producer);
  Node node;
  node.type = type_names::kSplit;
  node.name = value.name + "_" + producer.name + "_" + std::to_string(value.producer_output) + "_split";
  node.layer = make_internal_layer(graph, type_names::kSplit);
  node.x = {split.value};
  node.wants_dx = {true};
  node.runs_backward = true;
  const auto add_copy = [&](float loss_weight) {
    Value copy = value;
    copy.name = node.name + "_" + std::to_string(node.y.size());
    copy.loss_weight = loss_weight;
    copy.kept = loss_weight != 0;
    node.y.push_back(int(graph.values.size()));
    graph.values.push_back(std::move(copy));
    return node.y.back();
  };
  for (const Reader& reader : split.readers) graph.node(reader.node).x[size_t(reader.input)] = add_copy(0);
  if (value.loss_weight != 0) add_copy(value.loss_weight);
  graph.value(split.value).loss_weight = 0;
  node.layer->infer({value.shape});
  return node;
}

}  // namespace

void insert_splits(Graph& graph) {
  std::vector<std::vector<Node>> after(graph.nodes.size());
  for (const Split& split : find_splits(graph)) {
    Node node = make_split(graph, split);
    after[size_t(graph.value(split.value).producer)].push_back(std::move(node));
  }
  std::vector<Node> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    nodes.push_back(std::move(graph.nodes[n]));
    for (Node& node : after[n]) nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  index_readers(graph);
}

}  // namespace cortado::graph
