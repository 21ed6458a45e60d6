// Converts a net's layers to blocks. Connects layers by blob names instead of using the graph, so that nets with
// unknown layer types can be drawn. The graph, if there is one, adds shapes.
#include "tools/picture/blocks.h"

#include <map>
#include <set>

#include "tools/options/net_file.h"

namespace cortado::tools {

namespace {

using caffe::LayerParameter;

/// A blob between two layers. A name that is computed in place is the name of several blobs.
struct Flow {
  std::string name, shape;
  int producer = -1;
  std::vector<int> readers;
};

struct Layers {
  std::vector<const LayerParameter*> config;
  std::vector<std::vector<int>> x, y;
  std::vector<Flow> flows;
};

Layers connect(const NetFile& file, const caffe::NetState& state) {
  Layers out;
  std::map<std::string, int> last;
  for (const LayerParameter& config : file.net.layer()) {
    if (!graph::selected(config, state)) continue;
    const int layer = int(out.config.size());
    out.config.push_back(&config);
    out.x.emplace_back();
    out.y.emplace_back();
    for (const std::string& name : config.bottom()) {
      const auto found = last.find(name);
      if (found == last.end()) continue;  // no layer writes it, an error that `check` reports
      out.x.back().push_back(found->second);
      out.flows[size_t(found->second)].readers.push_back(layer);
    }
    for (const std::string& name : config.top()) {
      last[name] = int(out.flows.size());
      out.y.back().push_back(int(out.flows.size()));
      out.flows.push_back({name, "", layer, {}});
    }
  }
  return out;
}

/// The type as which a layer is drawn: itself, or for an unknown type the known one with the longest name that is part
/// of it, as BatchNorm for MKLBatchNorm. Null: none.
const LayerType* drawn_type(const std::string& name) {
  const LayerType* like = find_layer_type(name);
  if (like) return like;
  for (const LayerType* type : all_layer_types())
    if (name.find(type->name) != std::string::npos && (!like || type->name.size() > like->name.size())) like = type;
  return like;
}

bool may_stack(const std::string& name) {
  const LayerType* type = find_layer_type(name);
  return type ? type->stacks : drawn_family(name) == LayerFamily::kActivation;
}

/// Whether layer `at` is stacked onto the layer that writes its bottom.
bool stacks(const Layers& layers, size_t at) {
  if (layers.x[at].size() != 1 || layers.y[at].size() != 1) return false;
  const Flow& flow = layers.flows[size_t(layers.x[at][0])];
  if (flow.readers.size() != 1 || layers.y[size_t(flow.producer)].size() != 1) return false;
  const bool in_place = flow.name == layers.flows[size_t(layers.y[at][0])].name;
  const bool of_data = drawn_family(layers.config[size_t(flow.producer)]->type()) == LayerFamily::kData;
  return in_place || (!of_data && may_stack(layers.config[at]->type()));
}

/// Adds shapes, parameters and operations, layer by layer in the same order.
void add_shapes(const graph::Graph& graph, Layers& layers, const std::vector<int>& block_of, NetPicture& picture) {
  for (size_t i = 0; i < graph.nodes.size() && i < layers.config.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    Block& block = picture.blocks[size_t(block_of[i])];
    for (const graph::WeightId id : node.w) block.params += graph.weight(id).spec.shape.count();
    const int64_t flops = flops_of(graph, node);
    block.flops += flops;
    picture.flops += flops;
    for (size_t k = 0; k < layers.y[i].size() && k < node.y.size(); ++k) {
      const graph::Value& value = graph.value(node.y[k]);
      if (value.shape_known) layers.flows[size_t(layers.y[i][k])].shape = value.shape.str();
    }
  }
  picture.counted = all_shapes_known(graph);
  picture.params = count_weights(graph, true);
}

void add_edges(const Layers& layers, const std::vector<int>& block_of, NetPicture& picture) {
  for (const Flow& flow : layers.flows) {
    const int from = block_of[size_t(flow.producer)];
    picture.blobs.push_back({flow.name, flow.shape});
    std::set<int> reached;
    for (const int reader : flow.readers)
      if (const int to = block_of[size_t(reader)]; to != from && reached.insert(to).second)
        picture.edges.push_back({from, to, int(picture.blobs.size()) - 1});
  }
}

}  // namespace

LayerFamily drawn_family(const std::string& name) {
  if (const LayerType* type = drawn_type(name)) return family_of(*type);
  return name.ends_with("Loss") ? LayerFamily::kLoss : LayerFamily::kOther;
}

NetPicture make_picture(std::shared_ptr<const NetFile> file, const caffe::NetState& state, bool full,
                        const graph::Graph* shapes) {
  NetPicture picture;
  const caffe::NetState merged = graph::merge_states(file->net.state(), state);
  Layers layers = connect(*file, merged);
  std::vector<int> block_of(layers.config.size());
  for (size_t i = 0; i < layers.config.size(); ++i) {
    const bool stacked = !full && stacks(layers, i);
    block_of[i] =
        stacked ? block_of[size_t(layers.flows[size_t(layers.x[i][0])].producer)] : int(picture.blocks.size());
    if (!stacked) picture.blocks.emplace_back();
    picture.blocks[size_t(block_of[i])].layers.push_back(layers.config[i]);
  }
  if (shapes) add_shapes(*shapes, layers, block_of, picture);
  add_edges(layers, block_of, picture);
  for (size_t i = 0; i < layers.config.size(); ++i) {
    std::vector<PictureBlob>& tops = picture.blocks[size_t(block_of[i])].tops;
    tops.clear();  // keep only the tops of the block's last layer
    for (const int flow : layers.y[i])
      tops.push_back({layers.flows[size_t(flow)].name, layers.flows[size_t(flow)].shape});
  }
  picture.name = file->net.name();
  picture.phase = merged.phase();
  picture.layers = int(layers.config.size());
  picture.file = std::move(file);
  return picture;
}

}  // namespace cortado::tools
