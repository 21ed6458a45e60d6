#include "graph/graph.h"

#include <algorithm>
#include <sstream>

#include "kernels/conv.h"
#include "kernels/quantized_conv.h"
#include "layers/registry.h"

namespace cortado::graph {

Place Graph::place_of_layer(int source, const std::string& field) const {
  const std::string& path = layers[size_t(source)].path;
  return file->positions.place(field.empty() ? path : path + "." + field);
}

Place Graph::place(const Node& node, const std::string& field) const {
  return node.sources.empty() ? Place{} : place_of_layer(node.sources[0], field);
}

std::vector<std::string> Graph::output_names() const {
  std::vector<std::string> list;
  for (const auto& [blob, id] : names)
    if (const Value& value = values[size_t(id)]; value.readers.empty() && value.producer >= 0) list.push_back(blob);
  return list;  // std::map is sorted
}

int Graph::source_named(const std::string& layer) const {
  for (size_t i = 0; i < layers.size(); ++i)
    if (layers[i].config->name() == layer) return int(i);
  return -1;
}

std::vector<WeightId> weights_in(const Graph& other, const Graph& graph) {
  std::vector<WeightId> theirs(graph.weights.size(), -1);
  for (const SourceLayer& layer : graph.layers) {
    const int source = layer.weights.empty() ? -1 : other.source_named(layer.config->name());
    if (source < 0) continue;
    const std::vector<WeightId>& same = other.source(source).weights;
    for (size_t k = 0; k < std::min(same.size(), layer.weights.size()); ++k)
      if (WeightId& id = theirs[size_t(layer.weights[k])]; id < 0) id = same[k];
  }
  return theirs;
}

BuildOptions options_for(BuildOptions options, const Context& context) {
  options.value_type = value_type(context.precision);
  options.preferred_layout = kernels::preferred_layout(context);
  options.batch_norm = kernels::batch_norm_fusions(context);
  options.eight_bits =
      context.device.is_cpu() && context.precision == Precision::kFp32 && kernels::has_quantized_convs();
  return options;
}

std::unique_ptr<Layer> make_internal_layer(Graph& graph, const std::string& type) {
  std::shared_ptr<const caffe::LayerParameter>& config = graph.internal[type];
  if (!config) {
    auto made = std::make_shared<caffe::LayerParameter>();
    made->set_type(type);
    config = std::move(made);
  }
  return find_layer_type(type)->make({.config = *config, .phase = graph.phase(), .open_data = false});
}

bool wants_plain_integers(const Node& node) {
  const StorageRule rule = storage_of(node);
  return rule.eight_bits == EightBitRule::kComputes && rule.layout == LayoutRule::kPlain;
}

void index_readers(Graph& graph) {
  for (Value& value : graph.values) {
    value.readers.clear();
    value.producer = -1;
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (size_t i = 0; i < node.x.size(); ++i) graph.value(node.x[i]).readers.push_back({NodeId(n), int(i)});
    for (size_t i = 0; i < node.y.size(); ++i) {
      graph.value(node.y[i]).producer = NodeId(n);
      graph.value(node.y[i]).producer_output = int(i);
    }
  }
}

namespace {

void print_values(std::ostream& out, const Graph& graph, const std::vector<ValueId>& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const Value& value = graph.value(ids[i]);
    out << (i ? ", " : "") << "%" << ids[i] << " '" << value.name << "'";
    if (!value.shape_known) continue;
    out << " " << (value.dynamic_rows ? "at most " : "") << value.shape.str();
    if (value.layout != Layout::kPlain) out << " " << name_of(value.layout);
    if (value.dtype != DType::kF32) out << " " << name_of(value.dtype);
    if (value.scale != 1) out << "*" << value.scale;
  }
}

void print_node(std::ostream& out, const Graph& graph, const Node& node) {
  print_values(out, graph, node.y);
  out << " = " << node.type << " '" << node.name << "'(";
  print_values(out, graph, node.x);
  out << ")";
  for (size_t i = 0; i < node.w.size(); ++i) {
    const Weight& weight = graph.weight(node.w[i]);
    out << (i ? ", " : " w: ") << "#" << node.w[i] << " " << weight.spec.shape.str();
    if (!weight.learns()) out << " fixed";
  }
  if (!node.post.empty()) out << " then " << kernels::to_text(node.post);
  for (const ValueId id : node.y)
    if (const Value& value = graph.value(id); value.loss_weight != 0) out << " loss*" << value.loss_weight;
  if (node.runs_backward) {
    out << " backward";
    for (size_t i = 0; i < node.wants_dx.size(); ++i)
      if (node.wants_dx[i]) out << " dx" << i;
  }
  for (const Fusion& fusion : node.fusions)
    out << (fusion.side == Fusion::kMaker ? " offers " : " takes ") << fusion.kind->name;
  out << "\n";
}

}  // namespace

namespace {

/// Whether the node agreed, on that side, that the producer sums two gradients.
bool agreed_on_parts(const Node& node, Fusion::Side side) {
  return std::ranges::any_of(node.fusions,
                             [&](const Fusion& one) { return one.side == side && one.kind->sums_gradients; });
}

}  // namespace

bool leaves_sum(const Node& node) { return agreed_on_parts(node, Fusion::kReader); }

std::vector<ValueId> Graph::dy_parts(const Node& node) const {
  if (!agreed_on_parts(node, Fusion::kMaker)) return {};
  return this->node(value(node.y[0]).readers[0].node).y;
}

std::string to_text(const Graph& graph) {
  std::ostringstream out;
  out << "net '" << graph.name << "' " << caffe::Phase_Name(graph.phase()) << "\n";
  for (const Node& node : graph.nodes) print_node(out, graph, node);
  return out.str();
}

}  // namespace cortado::graph
