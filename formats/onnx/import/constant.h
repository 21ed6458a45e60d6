#pragma once

// Values that the model itself holds or that follow from it: weights, shapes, what operators on these give.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado::importing {

/// A tensor of floats or of integers (truth values among them), row by row.
struct Constant {
  Shape shape;
  bool integers = false;
  std::vector<float> floats = {};
  std::vector<int64_t> ints = {};

  size_t count() const { return integers ? ints.size() : floats.size(); }
  double at(size_t i) const { return integers ? double(ints[i]) : double(floats[i]); }
  /// Its values as integers; of floats their whole parts.
  std::vector<int64_t> as_integers() const;
  std::vector<float> as_floats() const;
};

using ConstantPtr = std::shared_ptr<const Constant>;

/// The whole part of a number, or the nearest integer that there is; 0 of no number.
int64_t whole_part(double value);

Constant integers_of(std::vector<int64_t> values);  ///< a list

/// Elements that an operator on constants may make; more than any shape, index or table of sizes has.
constexpr int64_t kMaxFolded = int64_t(1) << 22;

}  // namespace cortado::importing
