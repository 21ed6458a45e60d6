// Constant folding of reductions, selections and lists of indices.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "onnx/import/composing.h"
#include "onnx/import/reductions.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

void put_value(Constant& out, double value) {
  out.integers ? out.ints.push_back(whole_part(value)) : out.floats.push_back(float(value));
}

/// The element i of a constant in another one.
void copy(Constant& out, const Constant& from, size_t i) {
  out.integers ? out.ints.push_back(from.ints[i]) : out.floats.push_back(from.floats[i]);
}

struct Reducer {
  double first;
  double (*join)(double, double);
};

const std::map<std::string, Reducer>& reducers() {
  static const std::map<std::string, Reducer> all = {
      {"ReduceSum", {0, [](double a, double b) { return a + b; }}},
      {"ReduceMean", {0, [](double a, double b) { return a + b; }}},
      {"ReduceProd", {1, [](double a, double b) { return a * b; }}},
      {"ReduceMax", {-HUGE_VAL, [](double a, double b) { return std::max(a, b); }}},
      {"ReduceMin", {HUGE_VAL, [](double a, double b) { return std::min(a, b); }}}};
  return all;
}

/// Integers that a double does not represent are refused.
void check_exact(const NodeReader& node, const Constant& x, double value) {
  if (x.integers && std::abs(value) > 9007199254740992.0)
    node.fail("a result of " + std::to_string(value) + " is too large");
}

void fold_reduction(NodeReader& node) {
  const ConstantPtr x = node.constant(0, "the operand");
  const Reducer& reducer = reducers().at(node.op());
  const std::vector<int> axes = reduced_axes(node, x->shape);
  const Shape kept(result_shape(x->shape, axes, true)),
      shape(result_shape(x->shape, axes, node.integer("keepdims", 1) != 0));
  int64_t count = 1;
  for (const int axis : axes) count *= x->shape[axis];
  std::vector<double> sums(size_t(kept.count()), reducer.first);
  for (int64_t i = 0; i < int64_t(x->count()); ++i) {
    double& sum = sums[place_in(kept, x->shape, i)];
    sum = reducer.join(sum, x->at(size_t(i)));
  }
  Constant out{.shape = shape, .integers = x->integers};
  for (double sum : sums) {
    if (node.op() == "ReduceMean") sum /= double(count);
    check_exact(node, *x, sum);
    put_value(out, sum);
  }
  node.set(0, std::move(out));
}

/// The running sums along an axis.
void fold_cum_sum(NodeReader& node) {
  const ConstantPtr x = node.constant(0, "the operand"), at = node.constant(1, "the axis");
  if (at->count() != 1) node.fail("the axis is not a single number");
  const int axis = node.axis_of(x->shape, at->as_integers()[0]);
  const bool excludes = node.integer("exclusive", 0) != 0, reverse = node.integer("reverse", 0) != 0;
  const int64_t extent = x->shape[axis], inner = x->shape.count(axis + 1);
  Constant out = *x;
  for (int64_t row = 0; row < x->shape.count(0, axis) * inner; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < extent; ++i) {
      const int64_t place = (row / inner * extent + (reverse ? extent - 1 - i : i)) * inner + row % inner;
      const double value = x->at(size_t(place)), shown = excludes ? sum : sum + value;
      sum += value;
      check_exact(node, *x, sum);
      x->integers ? out.ints[size_t(place)] = whole_part(shown) : out.floats[size_t(place)] = float(shown);
    }
  }
  node.set(0, std::move(out));
}

/// The upper or lower triangle of matrices; other values become 0.
void fold_trilu(NodeReader& node) {
  Constant out = *node.constant(0, "the operand");
  const int axes = out.shape.axes();
  if (axes < 2) node.fail("the operand has shape " + out.shape.str() + ", not matrices");
  const std::vector<int64_t> k = node.list("k", 1).value_or(std::vector<int64_t>{0});
  if (k.size() != 1) node.fail("k is not a single number");
  const int64_t diagonal = k[0];
  const bool upper = node.integer("upper", 1) != 0;
  const int64_t columns = out.shape[axes - 1], rows = out.shape[axes - 2];
  for (size_t i = 0; i < out.count(); ++i) {
    const int64_t column = int64_t(i) % columns, row = int64_t(i) / columns % rows;
    const double off = double(column) - double(row) - double(diagonal);
    if (upper ? off >= 0 : off <= 0) continue;
    out.integers ? out.ints[i] = 0 : out.floats[i] = 0;
  }
  node.set(0, std::move(out));
}

void fold_tile(NodeReader& node) {
  const ConstantPtr x = node.constant(0, "the operand");
  const std::vector<int64_t> repeats = node.constant(1, "the repeats")->as_integers();
  if (repeats.size() != size_t(x->shape.axes()))
    node.fail("the length of repeats does not match an input of shape " + x->shape.str());
  Shape shape = x->shape;
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] < 0 || repeats[axis] > kMaxFolded) node.fail("repeats are out of range");
    shape[int(axis)] *= repeats[axis];
    if (shape.count() > kMaxFolded) node.fail("a constant of shape " + shape.str() + " is too large");
  }
  Constant out{.shape = shape, .integers = x->integers};
  for (int64_t i = 0; i < shape.count(); ++i) {
    int64_t rest = i, at = 0, step = 1;
    for (int axis = shape.axes() - 1; axis >= 0; --axis) {
      at += rest % shape[axis] % x->shape[axis] * step;
      rest /= shape[axis];
      step *= x->shape[axis];
    }
    copy(out, *x, size_t(at));
  }
  node.set(0, std::move(out));
}

/// The indices of all values other than 0: one row for each axis.
void fold_non_zero(NodeReader& node) {
  const ConstantPtr x = node.constant(0, "the operand");
  std::vector<int64_t> places;
  for (size_t i = 0; i < x->count(); ++i)
    if (x->at(i) != 0) places.push_back(int64_t(i));
  const int64_t axes = std::max(1, x->shape.axes());
  if (axes * int64_t(places.size()) > kMaxFolded) node.fail("the list of indices is too long");
  Constant out{.shape = {axes, int64_t(places.size())}, .integers = true};
  for (int axis = 0; axis < axes; ++axis)
    for (const int64_t place : places)
      out.ints.push_back(x->shape.axes() == 0 ? 0 : place / x->shape.count(axis + 1) % x->shape[axis]);
  node.set(0, std::move(out));
}

/// A copy of the operand with the values at the indices replaced.
void fold_scatter_nd(NodeReader& node) {
  Constant out = *node.constant(0, "the operand");
  const ConstantPtr places = node.constant(1, "the indices"), values = node.constant(2, "the updates");
  if (node.text("reduction", "none") != "none") node.fail("only the reduction 'none' is supported");
  const int last = places->shape.axes() - 1;
  if (last < 0 || places->shape[last] > out.shape.axes() || values->integers != out.integers)
    node.fail("indices of shape " + places->shape.str() + " do not match " + out.shape.str());
  const int64_t depth = places->shape[last], rows = places->shape.count(0, last), width = out.shape.count(int(depth));
  if (int64_t(values->count()) != checked_mul(rows, width)) node.fail("the updates do not match the indices");
  const std::vector<int64_t> list = places->as_integers();
  for (int64_t row = 0; row < rows; ++row) {
    int64_t at = 0;
    for (int64_t k = 0; k < depth; ++k) {
      int64_t place = list[size_t(row * depth + k)];
      const int64_t extent = out.shape[int(k)];
      if (place < 0) place += extent;
      if (place < 0 || place >= extent) node.fail("index " + std::to_string(place) + " is out of range");
      at += place * out.shape.count(int(k) + 1);
    }
    for (int64_t i = 0; i < width; ++i)
      out.integers ? out.ints[size_t(at + i)] = values->ints[size_t(row * width + i)]
                   : out.floats[size_t(at + i)] = values->floats[size_t(row * width + i)];
  }
  node.set(0, std::move(out));
}

}  // namespace

void add_value_folding(Table& table) {
  for (const auto& [name, reducer] : reducers()) table[name] = fold_reduction;
  table.insert({{"CumSum", fold_cum_sum},
                {"Trilu", fold_trilu},
                {"Tile", fold_tile},
                {"NonZero", fold_non_zero},
                {"ScatterND", fold_scatter_nd}});
}

}  // namespace cortado::importing
