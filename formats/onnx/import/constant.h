#pragma once

// Constants of a model: weights, shapes, and the results of operators on constants.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado::importing {

/// A tensor of floats or of integers (including booleans), row major.
struct Constant {
  Shape shape;
  bool integers = false;
  std::vector<float> floats = {};
  std::vector<int64_t> ints = {};

  size_t count() const { return integers ? ints.size() : floats.size(); }
  double at(size_t i) const { return integers ? double(ints[i]) : double(floats[i]); }
  /// Its values as integers; floats are truncated.
  std::vector<int64_t> as_integers() const;
  std::vector<float> as_floats() const;
};

using ConstantPtr = std::shared_ptr<const Constant>;

/// Truncates and clamps to the range of int64_t; NaN becomes 0.
int64_t whole_part(double value);

Constant integers_of(std::vector<int64_t> values);  ///< with one axis

/// The index, in a tensor of shape `small` that is broadcast to `shape`, of element `i`.
size_t place_in(const Shape& small, const Shape& shape, int64_t i);

/// The maximum number of elements of a folded constant; more than any shape or index has.
constexpr int64_t kMaxFolded = int64_t(1) << 22;

}  // namespace cortado::importing
