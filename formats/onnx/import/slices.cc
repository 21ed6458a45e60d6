// Slice and Split.
#include <algorithm>
#include <numeric>

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

/// Whether the slice reverses the whole axis, as a Reverse layer does.
bool turns_round(const Cut& cut, int64_t extent) { return cut.step == -1 && cut.start >= extent - 1 && cut.end < 0; }

void read_slice(NodeReader& node) {
  Blob x = node.x(0);
  for (const Cut& cut : cuts_of(node, x.shape)) {
    const int64_t extent = x.shape[cut.axis];
    if (turns_round(cut, extent)) {
      caffe::LayerParameter reverse = NodeReader::layer("Reverse");
      reverse.mutable_reverse_param()->set_axis(cut.axis);
      x = node.add(reverse, {x});
      continue;
    }
    if (cut.step != 1)
      node.fail("step " + std::to_string(cut.step) + " is not supported", "use 1, or -1 over a whole axis");
    const int64_t from = std::clamp<int64_t>(cut.start, 0, extent), to = std::clamp<int64_t>(cut.end, from, extent);
    if (from == to) node.fail("the slice of axis " + std::to_string(cut.axis) + " of " + x.shape.str() + " is empty");
    x = node.sliced(x, cut.axis, from, to);
  }
  node.set(0, x);
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

void add_slices(Table& table) { table.insert({{"Slice", read_slice}, {"Split", read_split}}); }

}  // namespace cortado::importing
