#pragma once

// Arrays of test values: row-major doubles, each exactly representable as float, so that layer and reference have the
// same inputs.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/shape.h"

namespace cortado::harness {

struct Array {
  Shape shape;
  std::vector<double> values;

  Array() = default;
  explicit Array(const Shape& shape, double value = 0) : shape(shape), values(size_t(shape.count()), value) {}
  Array(const Shape& shape, std::vector<double> values) : shape(shape), values(std::move(values)) {}

  size_t size() const { return values.size(); }
  double& operator[](size_t i) { return values[i]; }
  double operator[](size_t i) const { return values[i]; }
};

using Arrays = std::vector<Array>;

std::vector<Shape> shapes_of(const Arrays& arrays);

/// Uniform random values in [low, high), a function of shape and key.
Array random(const Shape& shape, uint64_t key, double low = -1, double high = 1);

/// Moves values nearer to `kink` than `margin` away from it: a difference quotient must not cross a kink.
Array keep_away(Array array, double kink, double margin = 0.05);

/// A random permutation of values around 0 that differ by at least `step`, for maxima.
Array distinct(const Shape& shape, uint64_t key, double step = 0.05);

/// Random integers in [0, classes).
Array random_labels(const Shape& shape, uint64_t key, int64_t classes);

/// exp(x) over its sum along the axis.
Array softmax(const Array& x, int axis);

/// function(x) for each element.
Array map(const Array& x, const std::function<double(double)>& function);

}  // namespace cortado::harness
