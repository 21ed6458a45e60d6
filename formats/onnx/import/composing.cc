#include "onnx/import/composing.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace cortado::importing {

namespace {

constexpr size_t kMaxRuns = 8;                    ///< up to this many Slice layers; more need a BatchReindex
constexpr int64_t kMaxIndex = int64_t(1) << 24;   ///< indices are floats
constexpr int64_t kMaxMatrix = int64_t(1) << 24;  ///< elements
constexpr int64_t kMaxTiles = int64_t(1) << 31;

/// Ascending indices [from, to).
struct Run {
  int64_t from, to;
};

std::vector<Run> runs_of(const std::vector<int64_t>& indices) {
  std::vector<Run> runs;
  for (const int64_t index : indices) {
    if (runs.empty() || runs.back().to != index) runs.push_back({index, index});
    ++runs.back().to;
  }
  return runs;
}

bool is_reversed(const std::vector<int64_t>& indices, int64_t extent) {
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] != extent - 1 - int64_t(i)) return false;
  return int64_t(indices.size()) == extent;
}

/// The order of axes with `axis` moved to `place`.
std::vector<int64_t> moved(int axes, int axis, int place) {
  std::vector<int64_t> order(static_cast<size_t>(axes));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + axis);
  order.insert(order.begin() + place, axis);
  return order;
}

Blob picked_rows(NodeReader& node, const Blob& x, const std::vector<int64_t>& indices) {
  const Shape list{int64_t(indices.size())};
  const Blob rows = node.parameter(list, std::vector<float>(indices.begin(), indices.end()));
  return node.add(NodeReader::layer("BatchReindex"), {x, rows});
}

}  // namespace

Blob gathered(NodeReader& node, const Blob& x, int axis, const std::vector<int64_t>& indices) {
  const int64_t extent = x.shape[axis];
  if (extent > 1 && is_reversed(indices, extent)) {
    caffe::LayerParameter reverse = NodeReader::layer("Reverse");
    reverse.mutable_reverse_param()->set_axis(axis);
    return node.add(reverse, {x});
  }
  const std::vector<Run> runs = runs_of(indices);
  if (runs.empty()) node.fail("it selects nothing from axis " + std::to_string(axis) + " of " + x.shape.str());
  if (runs.size() == 1) return node.sliced(x, axis, runs[0].from, runs[0].to);
  if (node.batch().in(extent)) node.fail("it selects from the batch");
  if (runs.size() <= kMaxRuns) {
    std::vector<Blob> parts;
    for (const Run& run : runs) parts.push_back(node.sliced(x, axis, run.from, run.to));
    return joined(node, parts, axis);
  }
  if (extent > kMaxIndex) node.fail("selecting from " + std::to_string(extent) + " places is not supported");
  const int axes = x.shape.axes();
  const Blob rows = picked_rows(node, node.permuted(x, moved(axes, axis, 0)), indices);
  return node.permuted(rows, moved(axes, 0, axis));
}

/// The first Threshold returns 0 or 1 for any number (0 if it is not one), so that the second always returns 0.
Blob filled(NodeReader& node, const Blob& x, float value) {
  caffe::LayerParameter nothing = NodeReader::layer("Threshold");
  nothing.mutable_threshold_param()->set_threshold(1);
  const Blob zeros = node.add(nothing, {node.add(NodeReader::layer("Threshold"), {x})});
  return value == 0 ? zeros : powered(node, zeros, 1, value);
}

Blob surrounded(NodeReader& node, const Blob& x, int axis, int64_t before, int64_t behind, float value) {
  if (before == 0 && behind == 0) return x;
  const Blob place = filled(node, node.sliced(x, axis, 0, 1), value);
  const auto places = [&](int64_t count) {
    Shape shape = place.shape;
    shape[axis] = count;
    return expanded(node, place, shape);
  };
  std::vector<Blob> parts = {x};
  if (before > 0) parts.insert(parts.begin(), places(before));
  if (behind > 0) parts.push_back(places(behind));
  return joined(node, parts, axis);
}

Blob mapped(NodeReader& node, const Blob& x, int axis, BlobFile matrix) {
  const int axes = x.shape.axes();
  caffe::LayerParameter layer = NodeReader::layer("InnerProduct");
  auto& param = *layer.mutable_inner_product_param();
  param.set_num_output(uint32_t(matrix.shape[0]));
  param.set_bias_term(false);
  if (axes != 2) param.set_axis(axes - 1);
  if (matrix.shape[0] > kMaxMatrix / std::max<int64_t>(1, matrix.shape[1]))
    node.fail("a matrix of " + matrix.shape.str() + " is too large");
  if (axes == 1) {
    param.set_axis(1);
    return node.reshaped(node.add(layer, {node.reshaped(x, {1, -1})}, {std::move(matrix)}), {-1});
  }
  const Blob vectors = node.permuted(x, moved(axes, axis, axes - 1));
  return node.permuted(node.add(layer, {vectors}, {std::move(matrix)}), moved(axes, axes - 1, axis));
}

Blob powered(NodeReader& node, const Blob& x, float scale, float shift, float power) {
  caffe::LayerParameter layer = NodeReader::layer("Power");
  if (power != 1) layer.mutable_power_param()->set_power(power);
  if (scale != 1) layer.mutable_power_param()->set_scale(scale);
  if (shift != 0) layer.mutable_power_param()->set_shift(shift);
  return node.add(layer, {x});
}

caffe::LayerParameter clip_layer(float low, float high) {
  if (low == 0 && high == 6) return NodeReader::layer("ReLU6");
  if (low == 0 && high >= std::numeric_limits<float>::max()) return NodeReader::layer("ReLU");
  caffe::LayerParameter layer = NodeReader::layer("Clip");
  layer.mutable_clip_param()->set_min(low);
  layer.mutable_clip_param()->set_max(high);
  return layer;
}

Blob with_last_exchanged(NodeReader& node, const Blob& x) {
  return node.permuted(x, moved(x.shape.axes(), x.shape.axes() - 1, x.shape.axes() - 2));
}

Blob joined(NodeReader& node, const std::vector<Blob>& parts, int axis) {
  if (parts.size() == 1) return parts[0];
  caffe::LayerParameter layer = NodeReader::layer("Concat");
  if (axis != 1) layer.mutable_concat_param()->set_axis(axis);
  return node.add(layer, parts);
}

Shape common_shape(const NodeReader& node, const Shape& a, const Shape& b) {
  std::vector<int64_t> dims(size_t(std::max(a.axes(), b.axes())), 1);
  for (const Shape* shape : {&a, &b})
    for (int i = 0; i < shape->axes(); ++i) {
      int64_t& dim = dims[dims.size() - size_t(shape->axes()) + size_t(i)];
      if (dim != 1 && (*shape)[i] != 1 && dim != (*shape)[i])
        node.fail("shapes " + a.str() + " and " + b.str() + " cannot be broadcast");
      if (dim == 1) dim = (*shape)[i];
    }
  return Shape(dims);
}

namespace {

/// A column of as many ones as the batch has samples.
Blob ones_of_batch(NodeReader& node) {
  const NetBuilder::Sample& sample = *node.sample();
  const Blob first = node.permuted(sample.blob, moved(sample.blob.shape.axes(), sample.axis, 0));
  caffe::LayerParameter sum = NodeReader::layer("Reduction");
  sum.mutable_reduction_param()->set_axis(1);
  const Blob zeros = node.add(sum, {node.reshaped(filled(node, first, 0), {0, -1})});
  return node.reshaped(powered(node, zeros, 1, 1), {0, 1});
}

/// Repeats x, which has an extent of 1 there, for each sample of the batch: ones times x, which is exact.
Blob repeated_for_batch(NodeReader& node, const Blob& x, int axis) {
  std::vector<int64_t> rest = x.shape.dims();
  rest.erase(rest.begin() + axis);
  const Blob product = node.add(NodeReader::layer("MatMul"), {ones_of_batch(node), node.reshaped(x, {1, -1})});
  rest.insert(rest.begin(), 0);
  return node.permuted(node.reshaped(product, rest), moved(int(rest.size()), 0, axis));
}

}  // namespace

Blob expanded(NodeReader& node, const Blob& x, const Shape& to) {
  if (x.shape == to) return x;
  std::vector<int64_t> dims(size_t(to.axes() - x.shape.axes()), 1);
  dims.insert(dims.end(), x.shape.dims().begin(), x.shape.dims().end());
  Blob y = node.reshaped(x, dims);
  int batch = -1;
  for (int axis = 0; axis < to.axes(); ++axis) {
    if (dims[size_t(axis)] == to[axis]) continue;
    if (to[axis] == node.batch().mark && node.sample() && batch < 0) {
      batch = axis;
      continue;
    }
    if (to[axis] >= kMaxTiles) node.fail("broadcasting to " + to.str() + " is not supported");
    caffe::LayerParameter layer = NodeReader::layer("Tile");
    layer.mutable_tile_param()->set_axis(axis);
    layer.mutable_tile_param()->set_tiles(int32_t(to[axis]));
    y = node.add(layer, {y});
  }
  return batch < 0 ? y : repeated_for_batch(node, y, batch);
}

std::vector<Blob> broadcast_inputs(NodeReader& node) {
  std::vector<Blob> blobs;
  for (size_t i = 0; i < node.inputs(); ++i) blobs.push_back(node.x(i));
  if (blobs.empty()) node.fail("it has no inputs");
  Shape common = blobs[0].shape;
  for (const Blob& blob : blobs) common = common_shape(node, common, blob.shape);
  for (Blob& blob : blobs) blob = expanded(node, blob, common);
  return blobs;
}

}  // namespace cortado::importing
