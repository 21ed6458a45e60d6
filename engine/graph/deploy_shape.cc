#include <filesystem>

#include "data/formats/mean_file.h"
#include "graph/deploy.h"
#include "graph/passes/passes.h"
#include "layers/registry.h"

namespace cortado::graph {

namespace {

using caffe::LayerParameter;

/// The shape from the layer built alone, with its dataset. The mean file is ignored: it does not affect the shape.
std::optional<Shape> shape_by_building(const NetFile& file, const LayerParameter& layer, const std::string& top,
                                       std::string& why) {
  auto alone = std::make_shared<NetFile>();
  *alone->net.add_layer() = layer;
  LayerParameter& copy = *alone->net.mutable_layer(0);
  copy.clear_include();
  copy.clear_exclude();
  copy.mutable_transform_param()->clear_mean_file();
  alone->positions = file.positions;
  BuildOptions options;
  options.state.set_phase(caffe::TEST);
  options.backward = false;
  try {
    Graph graph = build(std::move(alone), options);
    run_passes(graph, "infer_shapes");
    for (const Value& value : graph.values)
      if (value.name == top && value.shape_known) return value.shape;
  } catch (const Error& error) {
    why = error.mistakes()[0].message;
  }
  return {};
}

struct Extents {
  int64_t channels = 0, height = 0, width = 0;  ///< 0: unknown
};

void learn_from_mean(const std::string& path, Extents& extents) {
  std::error_code unknown;
  if (path.empty() || !std::filesystem::exists(path, unknown)) return;
  const auto mean = data::read_mean_file(path);
  extents.channels = mean->channels;
  if (extents.height > 0) return;
  extents.height = mean->height;
  extents.width = mean->width;
}

/// Extents from the options and the mean file alone.
Extents extents_of(const LayerParameter& layer) {
  const caffe::TransformationParameter& transform = layer.transform_param();
  Extents extents;
  extents.height = transform.crop_size() > 0 ? transform.crop_size() : transform.crop_h();
  extents.width = transform.crop_size() > 0 ? transform.crop_size() : transform.crop_w();
  learn_from_mean(transform.mean_file(), extents);
  if (transform.mean_value_size() > 1) extents.channels = transform.mean_value_size();
  if (transform.force_color()) extents.channels = 3;
  if (transform.force_gray()) extents.channels = 1;
  if (!layer.has_image_data_param()) return extents;
  const caffe::ImageDataParameter& images = layer.image_data_param();
  extents.channels = images.is_color() ? 3 : 1;
  if (extents.height > 0) return extents;
  extents.height = images.new_height();
  extents.width = images.new_width();
  return extents;
}

}  // namespace

Shape sample_shape(const NetFile& file, int index, const std::string& top) {
  const LayerParameter& layer = file.net.layer(index);
  std::string why;
  if (std::optional<Shape> shape = shape_by_building(file, layer, top, why)) {
    if (shape->axes() > 0) (*shape)[0] = 1;
    return *shape;
  }
  const Extents extents = extents_of(layer);
  if (extents.channels > 0 && extents.height > 0 && extents.width > 0)
    return {1, extents.channels, extents.height, extents.width};
  const auto text = [](int64_t extent, const char* unknown) { return extent > 0 ? std::to_string(extent) : unknown; };
  throw Error(ExitCode::kUsage, {file.positions.place("layer[" + std::to_string(index) + "]"),
                                 "the shape of '" + top + "' is unknown" + (why.empty() ? "" : ": " + why),
                                 "set it with --shape=1," + text(extents.channels, "CHANNELS") + "," +
                                     text(extents.height, "HEIGHT") + "," + text(extents.width, "WIDTH"),
                                 {}});
}

int64_t written_batch(const NetFile& file, int index, const std::string& top) {
  const LayerParameter& layer = file.net.layer(index);
  std::string why;
  if (const std::optional<Shape> shape = shape_by_building(file, layer, top, why); shape && shape->axes() > 0)
    return (*shape)[0];
  const LayerType* type = find_layer_type(layer.type());
  if (!type || !type->pipeline) return 0;
  try {
    return type->pipeline(layer, {}, /*read_files=*/false).batch_size;
  } catch (const Error&) {
  } catch (const FieldError&) {
  }
  return 0;
}

}  // namespace cortado::graph
