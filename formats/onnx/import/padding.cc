// Pad. Zero padding of images stays with the value, because the layer that reads it may do the padding. Other constants
// are concatenated; reflected, repeated and wrapped values are selected.
#include <algorithm>
#include <numeric>

#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

constexpr int64_t kMaxPad = int64_t(1) << 24;

/// The padding of each axis of x.
Padding pads_of(const NodeReader& node, const Shape& x) {
  const auto pads = node.list("pads", 1);
  std::vector<int64_t> axes(size_t(x.axes()));
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_input(3)) axes = node.constant(3, "its axes")->as_integers();
  if (!pads || pads->size() != 2 * axes.size())
    node.fail("the length of pads does not match an input of shape " + x.str());
  Padding padding{std::vector<int64_t>(size_t(x.axes()), 0), std::vector<int64_t>(size_t(x.axes()), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = size_t(node.axis_of(x, axes[i]));
    padding.before[axis] = (*pads)[i];
    padding.behind[axis] = (*pads)[axes.size() + i];
    for (const int64_t pad : {padding.before[axis], padding.behind[axis]})
      if (pad < -kMaxPad || pad > kMaxPad) node.fail("padding of " + std::to_string(pad) + " is out of range");
  }
  return padding;
}

/// The source of position i of an axis; negative positions are in the padding before it.
int64_t source_of(const std::string& mode, int64_t i, int64_t extent) {
  if (mode == "edge") return std::clamp<int64_t>(i, 0, extent - 1);
  const int64_t period = mode == "wrap" ? extent : std::max<int64_t>(1, 2 * (extent - 1));
  const int64_t rest = (i % period + period) % period;
  return rest < extent ? rest : period - rest;
}

/// Removes values where the padding is negative.
Blob cropped(NodeReader& node, Blob x, const Padding& padding) {
  for (int axis = 0; axis < x.shape.axes(); ++axis) {
    const int64_t from = std::max<int64_t>(0, -padding.before[size_t(axis)]),
                  to = x.shape[axis] - std::max<int64_t>(0, -padding.behind[size_t(axis)]);
    if (from >= to) node.fail("negative padding leaves nothing of axis " + std::to_string(axis));
    x = node.sliced(x, axis, from, to);
  }
  return x;
}

Blob selected(NodeReader& node, const Blob& x, int axis, int64_t before, int64_t behind, const std::string& mode) {
  std::vector<int64_t> indices;
  for (int64_t i = -before; i < x.shape[axis] + behind; ++i) indices.push_back(source_of(mode, i, x.shape[axis]));
  return gathered(node, x, axis, indices);
}

void read_pad(NodeReader& node) {
  Blob x = node.x(0);
  const std::string mode = node.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    node.fail("padding mode '" + mode + "' is not supported");
  Padding padding = pads_of(node, x.shape);
  const auto is_negative = [](int64_t pad) { return pad < 0; };
  const bool crops =
      std::ranges::any_of(padding.before, is_negative) || std::ranges::any_of(padding.behind, is_negative);
  if (crops && mode != "constant") node.fail("negative padding of mode '" + mode + "' is not supported");
  if (crops) x = cropped(node, x, padding);
  for (std::vector<int64_t>* pads : {&padding.before, &padding.behind})
    for (int64_t& pad : *pads) pad = std::max<int64_t>(0, pad);
  const float value = mode == "constant" ? node.bound("value", 2).value_or(0) : 0;
  const bool is_image =
      x.shape.axes() >= 3 && padding.before[0] + padding.before[1] + padding.behind[0] + padding.behind[1] == 0;
  if (mode == "constant" && value == 0 && is_image) {
    for (std::vector<int64_t>* pads : {&padding.before, &padding.behind}) pads->erase(pads->begin(), pads->begin() + 2);
    return node.set(0, Value{.blob = x, .padding = std::move(padding)});
  }
  for (int axis = 0; axis < x.shape.axes(); ++axis) {
    const int64_t before = padding.before[size_t(axis)], behind = padding.behind[size_t(axis)];
    if (before == 0 && behind == 0) continue;
    if (node.batch().in(x.shape[axis])) node.fail("it pads the batch");
    x = mode == "constant" ? surrounded(node, x, axis, before, behind, value)
                           : selected(node, x, axis, before, behind, mode);
  }
  node.set(0, x);
}

}  // namespace

void add_pads(Table& table) { table["Pad"] = read_pad; }

}  // namespace cortado::importing
