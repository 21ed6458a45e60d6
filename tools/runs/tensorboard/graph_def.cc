#include "tools/runs/tensorboard/graph_def.h"

#include <map>

#include "proto/text/write_text.h"
#include "tools/runs/tensorboard/events.pb.h"

namespace cortado::runs {

namespace {

/// What TensorBoard takes for a name: others have a meaning there.
std::string node_name(std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.' && c != '/') c = '_';
  return name.empty() || !std::isalnum(static_cast<unsigned char>(name[0])) ? "l" + name : name;
}

void add_shape(const graph::Graph& graph, const std::string& blob, events::GraphDef::Attribute& shapes) {
  const auto found = graph.names.find(blob);
  events::Tensor::Shape& shape = *shapes.mutable_list()->add_shape();
  if (found == graph.names.end()) return;
  const Shape& extents = graph.value(found->second).shape;
  for (int i = 0; i < extents.axes(); ++i) shape.add_dim()->set_size(extents[i]);
}

}  // namespace

std::string graph_def_of(const graph::Graph& graph) {
  events::GraphDef def;
  def.mutable_versions()->set_producer(22);
  std::map<std::string, std::string> makers;  // of the blobs of each name, the latest layer, as an input is written
  for (const graph::SourceLayer& layer : graph.layers) {
    const caffe::LayerParameter& config = *layer.config;
    events::GraphDef::Node& node = *def.add_node();
    node.set_name(node_name(config.name()));
    node.set_op(config.type());
    for (const std::string& bottom : config.bottom()) node.add_input(makers[bottom]);
    caffe::LayerParameter options = config;
    options.clear_blobs();
    (*node.mutable_attr())["options"].set_s(to_text(options));
    for (int i = 0; i < config.top_size(); ++i) {
      makers[config.top(i)] = node.name() + (i > 0 ? ":" + std::to_string(i) : "");
      add_shape(graph, config.top(i), (*node.mutable_attr())["_output_shapes"]);
    }
  }
  return def.SerializeAsString();
}

}  // namespace cortado::runs
