#include "onnx/import/batch_constants.h"

#include <algorithm>

#include "onnx/import/composing.h"
#include "onnx/import/node_reader.h"

namespace cortado::importing {

namespace {

/// The values of one sample along `axis`; nothing if the samples differ.
template <typename Value>
std::optional<std::vector<Value>> sample_of(const std::vector<Value>& values, const Shape& shape, int axis) {
  const int64_t inner = shape.count(axis + 1), outer = shape.count(0, axis);
  std::vector<Value> sample;
  for (int64_t i = 0; i < outer; ++i) {
    const auto first = values.begin() + i * shape[axis] * inner;
    for (int64_t k = 1; k < shape[axis]; ++k)
      if (!std::equal(first, first + inner, first + k * inner)) return std::nullopt;
    sample.insert(sample.end(), first, first + inner);
  }
  return sample;
}

}  // namespace

int only_axis_of(const Shape& shape, int64_t extent) {
  int found = -1;
  for (int axis = 0; axis < shape.axes(); ++axis) {
    if (shape[axis] != extent) continue;
    if (found >= 0) return -1;
    found = axis;
  }
  return found;
}

std::optional<Constant> one_sample(const Constant& constant, int axis) {
  if (constant.shape[axis] == 0) return std::nullopt;
  Constant out{.shape = constant.shape, .integers = constant.integers};
  out.shape[axis] = 1;
  if (constant.integers) {
    auto sample = sample_of(constant.ints, constant.shape, axis);
    if (!sample) return std::nullopt;
    out.ints = std::move(*sample);
  } else {
    auto sample = sample_of(constant.floats, constant.shape, axis);
    if (!sample) return std::nullopt;
    out.floats = std::move(*sample);
  }
  return out;
}

Constant without_batch(const Constant& constant, const Shape& x, const Batch& batch) {
  const int axis = batch.mark > 0 ? only_axis_of(constant.shape, batch.mark) : -1;
  const int at = axis + x.axes() - constant.shape.axes();  // the same axis of x
  if (axis < 0 || at < 0 || x[at] != batch.mark) return constant;
  return one_sample(constant, axis).value_or(constant);
}

Blob NodeReader::repeated(const Constant& sample, int axis) {
  Shape whole = sample.shape;
  whole[axis] = batch().mark;
  return expanded(*this, parameter(sample.shape, sample.as_floats()), whole);
}

std::optional<Blob> NodeReader::repeated_constant(size_t i) {
  const ConstantPtr known = constant(i, "input " + std::to_string(i));
  const int axis = batch().mark > 0 ? only_axis_of(known->shape, batch().mark) : -1;
  if (axis < 0 || !net_.sample) return std::nullopt;
  const auto sample = one_sample(*known, axis);
  if (!sample) return std::nullopt;
  return repeated(*sample, axis);
}

Blob NodeReader::x_with_batch(size_t i, int axis) {
  if (!is_constant(i) || batch().mark == 0 || !net_.sample) return x(i);
  const ConstantPtr known = constant(i, "input " + std::to_string(i));
  if (axis >= known->shape.axes() || known->shape[axis] != batch().own) return x(i);
  const auto sample = one_sample(*known, axis);
  return sample ? repeated(*sample, axis) : x(i);
}

}  // namespace cortado::importing
