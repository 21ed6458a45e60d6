#include "net/inputs.h"

#include <algorithm>

#include "graph/graph.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

/// The shapes of the tops; empty if the layer is not an input.
std::vector<Shape> tops_of(const caffe::LayerParameter& layer) {
  const LayerType* type = find_layer_type(layer.type());
  std::vector<Shape> tops = type && type->input_shapes ? type->input_shapes(layer) : std::vector<Shape>();
  tops.resize(std::min(tops.size(), size_t(layer.top_size())));
  return tops;
}

}  // namespace

std::map<std::string, Shape> declared_inputs(const NetFile& file, const caffe::NetState& state) {
  const caffe::NetState merged = graph::merge_states(file.net.state(), state);
  std::map<std::string, Shape> shapes;
  for (const caffe::LayerParameter& layer : file.net.layer()) {
    if (!graph::selected(layer, merged)) continue;
    const std::vector<Shape> tops = tops_of(layer);
    for (size_t i = 0; i < tops.size(); ++i) shapes[layer.top(int(i))] = tops[i];
  }
  return shapes;
}

std::shared_ptr<const NetFile> with_inputs(const std::shared_ptr<const NetFile>& file,
                                           const std::map<std::string, Shape>& shapes) {
  auto changed = std::make_shared<NetFile>(*file);
  for (caffe::LayerParameter& layer : *changed->net.mutable_layer()) {
    if (tops_of(layer).empty()) continue;
    google::protobuf::RepeatedPtrField<caffe::BlobShape> list;
    for (const std::string& top : layer.top()) {
      const auto found = shapes.find(top);
      if (found == shapes.end()) break;
      caffe::BlobShape& shape = *list.Add();
      for (const int64_t dim : found->second.dims()) shape.add_dim(dim);
    }
    if (list.size() != layer.top_size()) continue;
    layer.set_type(type_names::kInput);
    layer.mutable_input_param()->mutable_shape()->Swap(&list);
  }
  return changed;
}

std::optional<LabelOrigin> origin_of(const graph::Graph& graph, graph::ValueId id) {
  for (size_t steps = 0; steps <= graph.nodes.size(); ++steps) {
    const graph::Value& value = graph.value(id);
    if (value.producer < 0) return std::nullopt;
    const graph::Node& node = graph.node(value.producer);
    if (const auto* source = node.layer->roles().records) return LabelOrigin{&node, value.producer_output, source};
    if (!node.layer->roles().views_x || node.x.size() != 1) return std::nullopt;
    id = node.x[0];
  }
  return std::nullopt;
}

}  // namespace cortado
