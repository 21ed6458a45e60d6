// Operators that reshape, transpose, concatenate, pad or tile.
#include <algorithm>

#include "onnx/import/batch_constants.h"
#include "onnx/import/composing.h"
#include "onnx/import/reshaping.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

void read_identity(NodeReader& node) { node.set(0, node.value(0)); }

/// Blobs are always floats, so a Cast to floats is the identity. One to integers must be of indices.
void read_cast(NodeReader& node) {
  const int64_t to = node.integer("to", 0);
  if (to == onnx::TensorProto::INT64 || to == onnx::TensorProto::INT32)
    return node.set(0, Value{.blob = node.indices(0), .is_truncated = true});
  if (to != onnx::TensorProto::FLOAT && to != onnx::TensorProto::FLOAT16 && to != onnx::TensorProto::DOUBLE &&
      to != onnx::TensorProto::BFLOAT16)
    node.fail("only a Cast to floats, or of indices to integers, is supported", "blobs are floats; remove the Cast");
  if (node.value(0).is_truncated) node.x(0);  // fails
  node.set(0, node.value(0));
}

Shape shape_of_input(NodeReader& node) {
  return node.is_constant(0) ? node.constant(0, "the operand")->shape : node.x(0).shape;
}

void read_shape(NodeReader& node) {
  const std::vector<int64_t> dims = shape_of_input(node).dims();
  const auto place = [&](const std::string& name, int64_t absent) {
    const int64_t at = node.integer(name, absent);
    return std::clamp<int64_t>(at < 0 ? at + int64_t(dims.size()) : at, 0, int64_t(dims.size()));
  };
  const int64_t start = place("start", 0), end = std::max(start, place("end", int64_t(dims.size())));
  node.set(0, integers_of({dims.begin() + start, dims.begin() + end}));
}

void read_size(NodeReader& node) {
  Constant count = integers_of({shape_of_input(node).count()});
  count.shape = {};
  node.set(0, std::move(count));
}

void read_reshape(NodeReader& node) {
  const std::vector<int64_t> target = node.constant(1, "the shape")->as_integers();
  if (node.integer("allowzero", 0) != 0 && std::count(target.begin(), target.end(), 0) > 0)
    node.fail("an extent of 0 is not supported");
  const Blob x = node.x(0);
  node.finish_reshaped(x, with_batch(x.shape, target, node.batch()));
}

void read_flatten(NodeReader& node) {
  const Blob x = node.x(0);
  int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += x.shape.axes();
  if (axis < 0 || axis > x.shape.axes())
    node.fail("axis " + std::to_string(axis) + " is out of range for " + x.shape.str());
  if (axis == 1) return node.finish_reshaped(x, {0, -1});
  const int64_t before = x.shape.count(0, int(axis)), behind = x.shape.count(int(axis));
  node.finish_reshaped(x,
                       node.batch().in(behind) ? std::vector{before, int64_t(-1)} : std::vector{int64_t(-1), behind});
}

/// Whether a Squeeze without axes removes an axis: its extent is 1, or was when the model was exported.
bool is_one(const NodeReader& node, int64_t extent) {
  const Batch& batch = node.batch();
  return extent == 1 || (extent == batch.mark && batch.own == 1 && !batch.open);
}

/// A Reshape target that copies extents whose axis does not move; others are constants.
void read_squeeze(NodeReader& node) {
  const Blob x = node.x(0);
  std::vector<int64_t> axes;
  if (const auto given = node.list("axes", 1)) {
    for (const int64_t axis : *given) axes.push_back(node.axis_of(x.shape, axis));
  } else {
    for (int axis = 0; axis < x.shape.axes(); ++axis)
      if (is_one(node, x.shape[axis])) axes.push_back(axis);
  }
  std::vector<int64_t> target;
  for (int axis = 0; axis < x.shape.axes(); ++axis) {
    const bool goes = std::count(axes.begin(), axes.end(), axis) > 0;
    if (goes && x.shape[axis] != 1) node.fail("axis " + std::to_string(axis) + " of " + x.shape.str() + " is not 1");
    if (!goes) target.push_back(int(target.size()) == axis ? 0 : x.shape[axis]);
  }
  node.finish_reshaped(x, target);
}

void read_unsqueeze(NodeReader& node) {
  const Blob x = node.x(0);
  const auto axes = node.list("axes", 1);
  if (!axes) node.fail("axes is missing");
  const int64_t count = x.shape.axes() + int64_t(axes->size());
  if (count > Shape::kMaxAxes)
    node.fail(std::to_string(count) + " axes are above the limit of " + std::to_string(Shape::kMaxAxes));
  std::vector<int64_t> target(size_t(count), 0);
  for (int64_t axis : *axes) {
    if (axis < 0) axis += count;
    if (axis < 0 || axis >= count || target[size_t(axis)] != 0)
      node.fail("axis " + std::to_string(axis) + " is out of range or duplicate");
    target[size_t(axis)] = 1;
  }
  int next = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] != 0) continue;
    if (int(i) != next) target[i] = x.shape[next];
    ++next;
  }
  node.finish_reshaped(x, target);
}

void read_transpose(NodeReader& node) {
  const Blob x = node.x(0);
  std::vector<int64_t> order;
  for (int64_t axis = x.shape.axes() - 1; axis >= 0; --axis) order.push_back(axis);
  order = node.integers("perm", order);
  if (order.size() != size_t(x.shape.axes()))
    node.fail("perm has " + std::to_string(order.size()) + " axes, but its input has shape " + x.shape.str());
  for (int64_t& axis : order) axis = node.axis_of(x.shape, axis);
  for (int64_t axis = 0; axis < x.shape.axes(); ++axis)
    if (std::count(order.begin(), order.end(), axis) != 1) node.fail("perm is not a permutation");
  node.finish_permuted(x, order);
}

/// The batch axis of the operands that are blobs; a large number if none has one.
int batch_axis_of(NodeReader& node) {
  for (size_t i = 0; i < node.inputs(); ++i)
    if (!node.is_constant(i))
      if (const int axis = only_axis_of(node.x(i).shape, node.batch().mark); axis >= 0) return axis;
  return Shape::kMaxAxes;
}

/// The extents of all operands are equal on all other axes, so a constant with the model's own batch size grows with
/// it.
void read_concat(NodeReader& node) {
  std::vector<Blob> bottoms;
  const int batch_axis = batch_axis_of(node);
  for (size_t i = 0; i < node.inputs(); ++i) bottoms.push_back(node.x_with_batch(i, batch_axis));
  if (bottoms.empty()) node.fail("it has no inputs");
  const int axis = node.axis_of(bottoms[0].shape, node.integer("axis", 1));
  if (bottoms.size() == 1) return node.set(0, bottoms[0]);
  caffe::LayerParameter layer = NodeReader::layer("Concat");
  if (axis != 1) layer.mutable_concat_param()->set_axis(axis);
  node.finish(layer, bottoms);
}

/// The model's own batch size in the shape is the batch where x has it.
void read_expand(NodeReader& node) {
  const Blob x = node.x(0);
  std::vector<int64_t> dims = node.constant(1, "the shape")->as_integers();
  if (dims.size() > size_t(Shape::kMaxAxes))
    node.fail(std::to_string(dims.size()) + " axes are above the limit of " + std::to_string(Shape::kMaxAxes));
  for (const int64_t dim : dims)
    if (dim < 1) node.fail("extent " + std::to_string(dim) + " is not supported");
  for (int axis = 0; axis < x.shape.axes() && axis < int(dims.size()); ++axis) {
    int64_t& dim = dims[dims.size() - 1 - size_t(axis)];
    const int64_t extent = x.shape[x.shape.axes() - 1 - axis];
    if (node.batch().in(extent) && dim == node.batch().own) dim = extent;
  }
  node.set(0, expanded(node, x, common_shape(node, x.shape, Shape(dims))));
}

void read_tile(NodeReader& node) {
  Blob x = node.x(0);
  const std::vector<int64_t> repeats = node.constant(1, "the repeats")->as_integers();
  if (repeats.size() != size_t(x.shape.axes()))
    node.fail("the length of repeats does not match an input of shape " + x.shape.str());
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] == 1) continue;
    if (repeats[axis] < 1 || repeats[axis] > INT32_MAX)
      node.fail("repeats of " + std::to_string(repeats[axis]) + " are out of range");
    caffe::LayerParameter layer = NodeReader::layer("Tile");
    layer.mutable_tile_param()->set_axis(int32_t(axis));
    layer.mutable_tile_param()->set_tiles(int32_t(repeats[axis]));
    x = node.add(layer, {x});
  }
  node.set(0, x);
}

/// Moves blocks between channels and space: a Reshape to more axes, a Permute, and a Reshape to four axes.
void finish_blocks(NodeReader& node, const Blob& x, const std::vector<int64_t>& parts,
                   const std::vector<int64_t>& order, const std::vector<int64_t>& target) {
  node.finish_reshaped(node.permuted(node.reshaped(x, parts), order), target);
}

int64_t block_of(NodeReader& node, const Blob& x) {
  const int64_t block = node.integer("blocksize", 0);
  if (x.shape.axes() != 4 || block < 1 || block > 65536)
    node.fail("blocksize " + std::to_string(block) + " is invalid for " + x.shape.str());
  return block;
}

void read_depth_to_space(NodeReader& node) {
  const Blob x = node.x(0);
  const int64_t b = block_of(node, x), c = x.shape[1] / (b * b), h = x.shape[2], w = x.shape[3];
  if (x.shape[1] % (b * b) != 0)
    node.fail("blocksize " + std::to_string(b) + " does not divide " + std::to_string(x.shape[1]) + " channels");
  if (node.text("mode", "DCR") == "CRD") {
    caffe::LayerParameter layer = NodeReader::layer("PixelShuffle");
    layer.mutable_pixel_shuffle_param()->set_upscale_factor(uint32_t(b));
    return node.finish(layer, {x});
  }
  finish_blocks(node, x, {0, b, b, c, h, w}, {0, 3, 4, 1, 5, 2}, {0, c, h * b, w * b});
}

void read_space_to_depth(NodeReader& node) {
  const Blob x = node.x(0);
  const int64_t b = block_of(node, x), c = x.shape[1], h = x.shape[2] / b, w = x.shape[3] / b;
  if (x.shape[2] % b != 0 || x.shape[3] % b != 0)
    node.fail("blocksize " + std::to_string(b) + " does not divide " + x.shape.str());
  const bool channels_first = node.text("mode", "DCR") == "CRD";
  const std::vector<int64_t> order =
      channels_first ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4};
  finish_blocks(node, x, {0, c, h, b, w, b}, order, {0, c * b * b, h, w});
}

}  // namespace

void add_shapes(Table& table) {
  table.insert({{"Identity", read_identity},
                {"Cast", read_cast},
                {"Shape", read_shape},
                {"Size", read_size},
                {"Reshape", read_reshape},
                {"Flatten", read_flatten},
                {"Squeeze", read_squeeze},
                {"Unsqueeze", read_unsqueeze},
                {"Transpose", read_transpose},
                {"Concat", read_concat},
                {"Expand", read_expand},
                {"Tile", read_tile},
                {"DepthToSpace", read_depth_to_space},
                {"SpaceToDepth", read_space_to_depth}});
}

}  // namespace cortado::importing
