// Infers shapes of all values and weights, from first node to last. Layers whose input shape is unknown (after a
// dataset that was not opened, or after a layer with an error) are skipped, so that each error is reported once; only
// their options are checked, as far as these need no shapes.

#include <map>

#include "graph/layer_mistake.h"
#include "graph/passes/passes.h"
#include "graph/phases.h"
#include "layers/common/weights/filler.h"
#include "layers/registry.h"
#include "layers/unfit_rows.h"

namespace cortado::graph {

namespace {

constexpr int64_t kMaxElements = int64_t(1) << 40;

std::vector<Note> shapes_read(const Graph& graph, const Node& node) {
  std::vector<Note> notes;
  for (const ValueId id : node.x) {
    const Value& value = graph.value(id);
    if (!value.shape_known) continue;
    notes.push_back({graph.place(graph.node(value.producer)),
                     "'" + value.name + "' has shape " + value.shape.str() + ", made here"});
  }
  return notes;
}

bool inputs_known(const Graph& graph, const Node& node) {
  for (const ValueId id : node.x)
    if (!graph.value(id).shape_known) return false;
  return true;
}

void check_extents(const Shape& shape) {
  if (shape.axes() > Shape::kMaxAxes)
    throw FieldError(
        "", "its result has " + std::to_string(shape.axes()) + " axes, more than " + std::to_string(Shape::kMaxAxes));
  for (const int64_t dim : shape.dims())
    if (dim < 0) throw FieldError("", "its result has a negative extent: " + shape.str());
  if (shape.count() > kMaxElements) throw FieldError("", "its result " + shape.str() + " is too large");
}

void set_shapes(Graph& graph, Node& node, const LayerShapes& shapes) {
  if (shapes.y.size() < node.y.size()) throw_internal("a layer inferred too few shapes");
  for (size_t i = 0; i < node.y.size(); ++i) {
    const bool known = !(shapes.y[i].axes() == 1 && shapes.y[i][0] < 0);
    Value& value = graph.value(node.y[i]);
    if (known) check_extents(shapes.y[i]);
    value.shape = shapes.y[i];
    value.shape_known = known;
  }
}

void add_weights(Graph& graph, NodeId n, std::vector<WeightSpec> specs) {
  Node& node = graph.node(n);
  SourceLayer& source = graph.source(node.sources[0]);
  const caffe::LayerParameter& config = *source.config;
  if (config.param_size() > int(specs.size()))
    throw FieldError("param[" + std::to_string(specs.size()) + "]", "it has " + std::to_string(config.param_size()) +
                                                                        " param entries but only " +
                                                                        std::to_string(specs.size()) + " weight blobs");
  for (size_t k = 0; k < specs.size(); ++k) {
    check_extents(specs[k].shape);
    Weight weight;
    weight.owner = n;
    weight.layer = config.name();
    weight.index = int(k);
    weight.spec = std::move(specs[k]);
    if (int(k) < config.param_size()) {
      weight.lr_mult = config.param(int(k)).lr_mult();
      weight.decay_mult = config.param(int(k)).decay_mult();
      weight.share_name = config.param(int(k)).name();
    }
    const WeightId id = int(graph.weights.size());
    graph.weights.push_back(std::move(weight));
    node.w.push_back(id);
    source.weights.push_back(id);
  }
}

void infer_node(Graph& graph, NodeId n) {
  Node& node = graph.node(n);
  std::vector<Shape> x;
  for (const ValueId id : node.x) x.push_back(graph.value(id).shape);
  LayerShapes shapes = node.layer->infer(x);
  set_shapes(graph, node, shapes);
  add_weights(graph, n, std::move(shapes.w));
}

/// Throws FieldError for a filler of unknown type in the options that the layer reads.
void check_fillers(const caffe::LayerParameter& config) {
  const auto* reflection = config.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> options, fields;
  reflection->ListFields(config, &options);
  for (const auto* option : options) {
    if (option->message_type() == nullptr || option->is_repeated() || !reads_options(config.type(), option->name()))
      continue;
    const google::protobuf::Message& param = reflection->GetMessage(config, option);
    param.GetReflection()->ListFields(param, &fields);
    for (const auto* field : fields)
      if (field->message_type() == caffe::FillerParameter::descriptor() && !field->is_repeated())
        check_filler_type(static_cast<const caffe::FillerParameter&>(param.GetReflection()->GetMessage(param, field)),
                          option->name() + "." + field->name());
  }
}

void check_without_shapes(const Graph& graph, const Node& node) {
  check_fillers(*graph.source(node.sources[0]).config);
  node.layer->check_without_shapes();
}

/// Whether the shape that `error` is about is that of an Input layer, which the caller may set otherwise.
bool is_placeholder(const Graph& graph, const Node& node, const UnfitRows& error) {
  const Value& value = graph.value(node.x[error.bottom()]);
  return graph.options.vague_inputs && kind_of(graph.node(value.producer).type) == LayerKind::kInput;
}

/// Weight files identify layers by name: a layer with weights needs a unique one.
void check_names_of_weights(const Graph& graph, Mistakes& mistakes) {
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const SourceLayer& layer = graph.layers[i];
    const std::string& name = layer.config->name();
    if (name.empty()) {
      if (!layer.weights.empty())
        mistakes.add({graph.place_of_layer(int(i)),
                      "a layer of type " + layer.config->type() + " has weights but no name",
                      "name the layer: weights are stored and copied by layer name",
                      {}});
      continue;
    }
    const auto [earlier, is_first] = first.emplace(name, i);
    if (is_first || (layer.weights.empty() && graph.layers[earlier->second].weights.empty())) continue;
    mistakes.add({graph.place_of_layer(int(i), "name"),
                  "two layers have the name '" + name + "', which must be unique for layers with weights",
                  "rename one of them",
                  {{graph.place_of_layer(int(earlier->second), "name"), "the other one is here"}}});
  }
}

}  // namespace

void infer_shapes(Graph& graph) {
  Mistakes mistakes;
  ExitCode code = ExitCode::kNet;
  const auto add = [&](const Node& node, Diagnostic found) {
    if (graph.unfit < 0) graph.unfit = node.sources[0];
    mistakes.add(std::move(found));
  };
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    try {
      if (inputs_known(graph, node))
        infer_node(graph, NodeId(n));
      else
        check_without_shapes(graph, node);
    } catch (const FieldError& e) {
      Diagnostic found = layer_mistake(graph, node, e, shapes_read(graph, node));
      const auto* rows = dynamic_cast<const UnfitRows*>(&e);
      if (rows && is_placeholder(graph, node, *rows))
        graph.warnings.push_back(std::move(found));
      else
        add(node, std::move(found));
    } catch (const Error& e) {  // of a dataset: its exit code counts only where the net has no errors
      if (mistakes.empty()) code = e.code();
      for (Diagnostic& mistake : with_names_of_files(e.mistakes(), graph, node.sources[0])) {
        if (!mistake.place.known()) mistake.place = graph.place(node);
        add(node, std::move(mistake));
      }
    }
  }
  check_names_of_weights(graph, mistakes);
  mistakes.throw_if_any(code);
}

}  // namespace cortado::graph
