#include "onnx/import/batch_constants.h"

#include <algorithm>
#include <limits>

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

/// A bias is the only constant that a layer repeats for each sample. So the constant is the bias of an InnerProduct
/// with weights of 0, whose input is one number for each sample: 0, or 1 where the sample's sum is infinite.
Blob NodeReader::repeated(const Constant& sample, int axis) {
  const BatchSource& source = net_.batch_source;
  std::vector<int64_t> batch_first = {source.axis};
  for (int64_t i = 0; i < source.blob.shape.axes(); ++i)
    if (i != source.axis) batch_first.push_back(i);
  Blob numbers = permuted(source.blob, batch_first);
  if (numbers.shape.axes() > 1) {
    caffe::LayerParameter sum = layer("Reduction");
    sum.mutable_reduction_param()->set_axis(1);
    numbers = add(sum, {numbers});
  }
  caffe::LayerParameter threshold = layer("Threshold");
  threshold.mutable_threshold_param()->set_threshold(std::numeric_limits<float>::max());
  numbers = reshaped(add(threshold, {numbers}), {0, 1});
  const int64_t count = sample.shape.count();
  if (count < 1 || count > kMaxFolded) fail("a constant of shape " + sample.shape.str() + " cannot be repeated");
  caffe::LayerParameter product = layer("InnerProduct");
  product.mutable_inner_product_param()->set_num_output(uint32_t(count));
  const Blob rows = add(
      product, {numbers},
      {weight_of(Shape{count, 1}, std::vector<float>(size_t(count), 0)), weight_of(Shape{count}, sample.as_floats())});
  std::vector<int64_t> target = {0}, order;
  for (int i = 0; i < sample.shape.axes(); ++i) {
    if (i != axis) target.push_back(sample.shape[i]);
    order.push_back(i == axis ? 0 : i < axis ? i + 1 : i);
  }
  return permuted(reshaped(rows, target), order);
}

std::optional<Blob> NodeReader::repeated_constant(size_t i) {
  const ConstantPtr known = constant(i, "input " + std::to_string(i));
  const int axis = batch().mark > 0 ? only_axis_of(known->shape, batch().mark) : -1;
  if (axis < 0 || net_.batch_source.blob.name.empty()) return std::nullopt;
  const auto sample = one_sample(*known, axis);
  if (!sample) return std::nullopt;
  return repeated(*sample, axis);
}

Blob NodeReader::x_with_batch(size_t i, int axis) {
  if (!is_constant(i) || batch().mark == 0 || net_.batch_source.blob.name.empty()) return x(i);
  const ConstantPtr known = constant(i, "input " + std::to_string(i));
  if (axis >= known->shape.axes() || known->shape[axis] != batch().own) return x(i);
  const auto sample = one_sample(*known, axis);
  return sample ? repeated(*sample, axis) : x(i);
}

}  // namespace cortado::importing
