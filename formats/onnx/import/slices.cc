// Slice, Gather and Split.
#include <algorithm>
#include <numeric>

#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

/// One axis of a Slice.
struct Cut {
  int axis;
  int64_t start, end, step;
};

std::vector<Cut> cuts_of(const NodeReader& node, const Shape& x) {
  const auto starts = node.list("starts", 1), ends = node.list("ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) node.fail("starts and ends differ in length");
  std::vector<int64_t> axes(starts->size()), steps(starts->size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.list("axes", 3).value_or(axes);
  steps = node.list("steps", 4).value_or(steps);
  if (axes.size() != starts->size() || steps.size() != starts->size())
    node.fail("axes, steps and starts differ in length");
  std::vector<Cut> cuts;
  for (size_t i = 0; i < axes.size(); ++i) {
    Cut cut{node.axis_of(x, axes[i]), (*starts)[i], (*ends)[i], steps[i]};
    const int64_t extent = x[cut.axis];
    for (int64_t* place : {&cut.start, &cut.end})
      if (*place < 0) *place = std::max<int64_t>(*place, -extent - 1) + extent;
    cuts.push_back(cut);
  }
  return cuts;
}

/// The indices that a Slice takes from an axis.
std::vector<int64_t> indices_of(NodeReader& node, const Cut& cut, int64_t extent) {
  if (cut.step == 0) node.fail("step 0 is invalid");
  const bool down = cut.step < 0;
  const int64_t from = std::clamp<int64_t>(cut.start, down ? -1 : 0, down ? extent - 1 : extent),
                to = std::clamp<int64_t>(cut.end, down ? -1 : 0, down ? extent - 1 : extent),
                step = std::clamp(cut.step, -extent - 1, extent + 1);
  std::vector<int64_t> indices;
  for (int64_t at = from; down ? at > to : at < to; at += step) indices.push_back(at);
  return indices;
}

void read_slice(NodeReader& node) {
  Blob x = node.x(0);
  for (const Cut& cut : cuts_of(node, x.shape)) {
    const int64_t extent = x.shape[cut.axis];
    const std::vector<int64_t> indices = indices_of(node, cut, extent);
    if (indices.empty())
      node.fail("the slice of axis " + std::to_string(cut.axis) + " of " + x.shape.str() + " is empty");
    x = gathered(node, x, cut.axis, indices);
  }
  node.set(0, x);
}

/// Rows of a table, by a blob of indices.
void finish_embedding(NodeReader& node, const Constant& table) {
  caffe::LayerParameter layer = NodeReader::layer("Embed");
  auto& param = *layer.mutable_embed_param();
  param.set_input_dim(uint32_t(table.shape[0]));
  param.set_num_output(uint32_t(table.shape[1]));
  param.set_bias_term(false);
  node.finish(layer, {node.indices(1)}, {weight_of(table.shape, table.as_floats())});
}

/// An embedding, or constant indices of a blob.
void read_gather(NodeReader& node) {
  if (node.is_constant(0) && node.constant(0, "the table")->shape.axes() == 2 && node.integer("axis", 0) == 0)
    return finish_embedding(node, *node.constant(0, "the table"));
  const Blob x = node.x(0);
  const int axis = node.axis_of(x.shape, node.integer("axis", 0));
  const ConstantPtr places = node.constant(1, "the index");
  std::vector<int64_t> indices = places->as_integers();
  for (int64_t& place : indices) {
    if (place < 0) place += x.shape[axis];
    if (place < 0 || place >= x.shape[axis])
      node.fail("index " + std::to_string(place) + " is out of range for axis " + std::to_string(axis) + " of " +
                x.shape.str());
  }
  const Blob taken = gathered(node, x, axis, indices);
  if (places->shape.axes() == 1) return node.set(0, taken);
  std::vector<int64_t> target(size_t(axis), 0);
  target.insert(target.end(), places->shape.dims().begin(), places->shape.dims().end());
  target.insert(target.end(), taken.shape.dims().begin() + axis + 1, taken.shape.dims().end());
  node.finish_reshaped(taken, target);
}

/// The given sizes, or equal parts with a smaller last one.
std::vector<int64_t> parts_of(const NodeReader& node, int64_t extent) {
  if (const auto parts = node.list("split", 1)) return *parts;
  const int64_t count = node.integer("num_outputs", int64_t(node.outputs()));
  if (count < 1 || count > extent)
    node.fail("an extent of " + std::to_string(extent) + " cannot be split into " + std::to_string(count) + " parts");
  const int64_t size = (extent + count - 1) / count;
  std::vector<int64_t> parts(size_t(count), size);
  parts.back() = extent - size * (count - 1);
  return parts;
}

void read_split(NodeReader& node) {
  const Blob x = node.x(0);
  const int axis = node.axis_of(x.shape, node.integer("axis", 0));
  const std::vector<int64_t> parts = parts_of(node, x.shape[axis]);
  int64_t sum = 0;
  for (const int64_t part : parts) {
    if (part < 1 || part > x.shape[axis])
      node.fail("a part of " + std::to_string(part) + " is out of range for " + x.shape.str());
    sum += part;
  }
  if (sum != x.shape[axis] || parts.size() != node.outputs())
    node.fail("the parts do not match axis " + std::to_string(axis) + " of " + x.shape.str());
  if (parts.size() == 1) return node.set(0, x);
  caffe::LayerParameter layer = NodeReader::layer("Slice");
  layer.mutable_slice_param()->set_axis(axis);
  sum = 0;
  for (size_t i = 0; i + 1 < parts.size(); ++i) layer.mutable_slice_param()->add_slice_point(uint32_t(sum += parts[i]));
  node.finish(layer, {x});
}

}  // namespace

void add_slices(Table& table) { table.insert({{"Slice", read_slice}, {"Gather", read_gather}, {"Split", read_split}}); }

}  // namespace cortado::importing
