// Layers that reshape, permute, split or concatenate.
#include <algorithm>
#include <functional>
#include <limits>

#include "onnx/export/operators.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

void write_reshape(LayerWriter& layer) {
  layer.finish({"Reshape", {layer.x[0].name, layer.integers("shape", layer.reshape_target(layer.x[0], layer.y[0]))}});
}

/// ONNX's Flatten returns two axes; other shapes need a Reshape.
void write_flatten(LayerWriter& layer) {
  const auto& param = layer.config.flatten_param();
  const Shape& x = layer.x[0].shape;
  const bool plain = x.canonical_axis(param.axis()) == 1 && x.canonical_axis(param.end_axis()) == x.axes() - 1;
  if (!plain) return write_reshape(layer);
  layer.finish({"Flatten", {layer.x[0].name}, {{"axis", int64_t(1)}}});
}

template <typename Values>
void finish_transpose(LayerWriter& layer, const Values& first) {
  std::vector<int64_t> order(first.begin(), first.end());
  for (int64_t axis = 0; axis < layer.x[0].shape.axes(); ++axis)
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  layer.finish({"Transpose", {layer.x[0].name}, {{"perm", order}}});
}

void write_permute(LayerWriter& layer) { finish_transpose(layer, layer.config.permute_param().order()); }
void write_transpose(LayerWriter& layer) { finish_transpose(layer, layer.config.transpose_param().dim()); }

void write_concat(LayerWriter& layer) {
  const auto& param = layer.config.concat_param();
  const int64_t axis =
      layer.x[0].shape.canonical_axis(param.has_concat_dim() ? int64_t(param.concat_dim()) : param.axis());
  std::vector<std::string> inputs;
  for (const Operand& operand : layer.x) inputs.push_back(operand.name);
  layer.finish({"Concat", inputs, {{"axis", axis}}});
}

/// A slice of x from `starts` to `ends` along `axes`.
Operation slice(LayerWriter& layer, const std::string& x, const std::vector<int64_t>& starts,
                const std::vector<int64_t>& ends, const std::vector<int64_t>& axes) {
  return {"Slice", {x, layer.integers("starts", starts), layer.integers("ends", ends), layer.integers("axes", axes)}};
}

void write_slice(LayerWriter& layer) {
  const auto& param = layer.config.slice_param();
  const int64_t axis =
      layer.x[0].shape.canonical_axis(param.has_slice_dim() ? int64_t(param.slice_dim()) : param.axis());
  std::vector<int64_t> parts;
  for (const Operand& operand : layer.y) parts.push_back(operand.shape[int(axis)]);
  const bool equal = std::adjacent_find(parts.begin(), parts.end(), std::not_equal_to<>()) == parts.end();
  if (equal || !layer.reader.replaces(Form::kUnequalSplit))
    return layer.finish_all({"Split", {layer.x[0].name, layer.integers("split", parts)}, {{"axis", axis}}});
  for (size_t i = 0, begin = 0; i < parts.size(); begin += size_t(parts[i++]))
    layer.finish(slice(layer, layer.x[0].name, {int64_t(begin)}, {int64_t(begin) + parts[i]}, {axis}), i);
}

void write_split(LayerWriter& layer) {
  for (size_t i = 0; i < layer.y.size(); ++i) layer.finish({"Identity", {layer.x[0].name}}, i);
}

void write_crop(LayerWriter& layer) {
  const auto& param = layer.config.crop_param();
  const Shape &x = layer.x[0].shape, &y = layer.y[0].shape;
  const int first = x.canonical_axis(param.axis());
  std::vector<int64_t> starts, ends, axes;
  for (int axis = first; axis < x.axes(); ++axis) {
    if (layer.x[0].axis_is_dynamic(axis)) {
      if (param.offset_size() == 0) continue;
      layer.refuse("it crops the batch axis", {}, "crop_param.axis");
    }
    const int64_t offset = param.offset_size() == 0   ? 0
                           : param.offset_size() == 1 ? param.offset(0)
                                                      : param.offset(axis - first);
    starts.push_back(offset);
    ends.push_back(offset + y[axis]);
    axes.push_back(axis);
  }
  layer.finish(slice(layer, layer.x[0].name, starts, ends, axes));
}

/// Reverses the whole axis.
void write_reverse(LayerWriter& layer) {
  const int64_t axis = layer.x[0].shape.canonical_axis(layer.config.reverse_param().axis());
  Operation turned = slice(layer, layer.x[0].name, {-1}, {std::numeric_limits<int64_t>::min()}, {axis});
  turned.inputs.push_back(layer.integers("steps", {-1}));
  layer.finish(turned);
}

void write_tile(LayerWriter& layer) {
  const auto& param = layer.config.tile_param();
  std::vector<int64_t> repeats(size_t(layer.x[0].shape.axes()), 1);
  repeats[size_t(layer.x[0].shape.canonical_axis(param.axis()))] = param.tiles();
  layer.finish({"Tile", {layer.x[0].name, layer.integers("repeats", repeats)}});
}

/// Reshapes x to `parts`, permutes its axes, and reshapes to y. Axis 0 is always the batch.
void finish_shuffled(LayerWriter& layer, const std::string& x, const Shape& parts, const std::vector<int64_t>& order) {
  Operand from = layer.x[0];
  from.name = x;
  std::vector<int> axes(size_t(parts.axes()), -1);
  axes[0] = 0;
  const Operand split = LayerWriter::shaped(from, parts, axes);
  const std::string shuffled = layer.add({"Transpose", {layer.reshaped(from, split)}, {{"perm", order}}});
  layer.finish({"Reshape", {shuffled, layer.integers("shape", layer.reshape_target(from, layer.y[0]))}});
}

void finish_dealt(LayerWriter& layer, const std::string& x, int64_t groups, const Shape& shape) {
  finish_shuffled(layer, x, {shape[0], groups, shape[1] / groups, shape.count(2)}, {0, 2, 1, 3});
}

void write_shuffle_channel(LayerWriter& layer) {
  finish_dealt(layer, layer.x[0].name, layer.config.shuffle_channel_param().group(), layer.x[0].shape);
}

/// A Concat, then a channel shuffle with one group per bottom.
void write_interleave(LayerWriter& layer) {
  std::vector<std::string> inputs;
  for (const Operand& operand : layer.x) inputs.push_back(operand.name);
  const std::string joined = layer.add({"Concat", inputs, {{"axis", int64_t(1)}}});
  finish_dealt(layer, joined, int64_t(inputs.size()), layer.y[0].shape);
}

/// Channels are ordered column, row, depth: ONNX's mode CRD.
void write_pixel_shuffle(LayerWriter& layer) {
  const int64_t factor = layer.config.pixel_shuffle_param().upscale_factor();
  layer.finish({"DepthToSpace", {layer.x[0].name}, {{"blocksize", factor}, {"mode", std::string("CRD")}}});
}

void write_reorg(LayerWriter& layer) {
  const auto& param = layer.config.reorg_param();
  const Shape& x = layer.x[0].shape;
  const int64_t s = param.stride(), parts = x[1] / (s * s);
  if (param.reverse())
    return finish_shuffled(layer, layer.x[0].name, {x[0], s, s, parts, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  finish_shuffled(layer, layer.x[0].name, {x[0], parts, x[2], s, x[3], s}, {0, 3, 5, 1, 2, 4});
}

/// Negative padding crops, in ONNX as well.
void write_padding(LayerWriter& layer) {
  const auto& param = layer.config.padding_param();
  const int64_t begin = param.pad_beg(), end = param.pad_end();
  layer.finish({"Pad", {layer.x[0].name, layer.integers("pads", {0, 0, begin, begin, 0, 0, end, end})}});
}

/// With a bottom, once for each of its samples.
void write_parameter(LayerWriter& layer) {
  if (layer.x.empty()) return layer.finish_constant(layer.values(0));
  const Shape& y = layer.y[0].shape;
  std::vector<int64_t> once(y.dims().begin() + 1, y.dims().end());
  once.insert(once.begin(), 1);
  finish_expanded(layer, layer.weight(0, Shape(once)), 0);
}

/// A constant. With an operand it grows as that does.
void write_dummy_data(LayerWriter& layer) {
  if (layer.x.empty()) return layer.finish_constant(layer.constants.top(0));
  const float value = layer.config.dummy_data_param().data_filler(0).value();
  const std::vector<int64_t> ones(size_t(layer.y[0].shape.axes()), 1);
  finish_expanded(layer, layer.floats("value", Shape(ones), {&value, 1}), dynamic_axis(layer.x[0]));
}

void write_nothing(LayerWriter&) {}

}  // namespace

void add_shapes(Table& table) {
  table.insert({{"Reshape", write_reshape},
                {"Flatten", write_flatten},
                {"Permute", write_permute},
                {"Transpose", write_transpose},
                {"Concat", write_concat},
                {"Slice", write_slice},
                {"Split", write_split},
                {"Crop", write_crop},
                {"Reverse", write_reverse},
                {"Tile", write_tile},
                {"ShuffleChannel", write_shuffle_channel},
                {"Interleave", write_interleave},
                {"PixelShuffle", write_pixel_shuffle},
                {"Reorg", write_reorg},
                {"Padding", write_padding},
                {"Parameter", write_parameter},
                {"DummyData", write_dummy_data},
                {"Silence", write_nothing}});
}

}  // namespace cortado::exporting
