#include "tools/runs/tensorboard/graph_def.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "data/image/png.h"
#include "data/image/tile_sheet.h"
#include "net/tensor_values.h"
#include "proto/text/write_text.h"
#include "tools/runs/tensorboard/events.pb.h"

namespace cortado::runs {

namespace {

/// A valid node name for TensorBoard, where other characters have a special meaning.
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
  std::map<std::string, std::string>
      makers;  // for each blob name, the input of its latest layer, as GraphDef writes it
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

namespace {

constexpr int kMaxTiles = 64, kGap = 1;

/// Planes of values: tiles x channels x height x width.
struct Tiles {
  int64_t count, channels, height, width;
  std::vector<float> values;

  int64_t size() const { return channels * height * width; }
  bool are_images() const { return (channels == 1 || channels == 3) && height > 0 && width > 0 && count > 0; }
};

struct Range {
  float least, most;
  uint8_t level(float value) const {
    if (!(most > least)) return 128;
    return uint8_t(std::lround(std::clamp((value - least) / (most - least), 0.0f, 1.0f) * 255));
  }
};

Range range_of(const float* values, int64_t count) {
  const auto [least, most] = std::minmax_element(values, values + count);
  return {*least, *most};
}

/// If a layer with weights reads it, backward reads it, and it is in memory until the last weight's gradient.
bool is_read_by_weights(const graph::Graph& graph, graph::ValueId data) {
  for (const graph::Node& node : graph.nodes)
    if (std::find(node.x.begin(), node.x.end(), data) != node.x.end() &&
        std::find(node.wants_dw.begin(), node.wants_dw.end(), true) != node.wants_dw.end())
      return true;
  return false;
}

EncodedImage sheet_of(const Tiles& tiles, bool each_alone) {
  const int64_t shown = std::min<int64_t>(tiles.count, kMaxTiles),
                columns = std::max<int64_t>(1, std::llround(std::ceil(std::sqrt(double(shown)))));
  data::TileSheet sheet{tiles.height, tiles.width, shown, columns, kGap, 0, {}};
  sheet.resize(tiles.channels);
  std::fill(sheet.image.pixels.begin(), sheet.image.pixels.end(), uint8_t(0));
  const Range all = range_of(tiles.values.data(), shown * tiles.size());
  for (int64_t i = 0; i < shown; ++i) {
    const float* tile = tiles.values.data() + i * tiles.size();
    const Range range = each_alone ? range_of(tile, tiles.size()) : all;
    sheet.paint(i, [&](int64_t c, int64_t y, int64_t x) {
      return range.level(tile[(c * tiles.height + y) * tiles.width + x]);
    });
  }
  return {sheet.image.height, sheet.image.width, sheet.image.channels, data::encode_png(sheet.image)};
}

}  // namespace

std::optional<EncodedImage> batch_image(Net& net) {
  const graph::Graph& graph = net.plan().graph;
  for (const graph::Node& node : graph.nodes) {
    if (!node.x.empty() || node.y.empty()) continue;
    const graph::ValueId data = node.y[0];
    const Shape& shape = graph.value(data).shape;
    if (shape.axes() != 4 || !is_read_by_weights(graph, data)) return std::nullopt;
    Tiles tiles{shape[0], shape[1], shape[2], shape[3], std::vector<float>(size_t(shape.count()))};
    if (!tiles.are_images()) return std::nullopt;
    read_values(net.context(), net.value_tensor(data), tiles.values.data());
    return sheet_of(tiles, true);
  }
  return std::nullopt;
}

std::optional<EncodedImage> filter_image(const Net& net) {
  for (const graph::SourceLayer& layer : net.plan().graph.layers) {
    if (layer.weights.empty()) continue;
    const graph::WeightId id = layer.weights[0];
    const Shape& shape = net.plan().graph.weight(id).spec.shape;
    if (shape.axes() != 4) continue;
    Tiles tiles{shape[0], shape[1], shape[2], shape[3], std::vector<float>(size_t(shape.count()))};
    if (!tiles.are_images()) continue;
    net.read_weight(id, tiles.values.data());
    return sheet_of(tiles, false);
  }
  return std::nullopt;
}

}  // namespace cortado::runs
