#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace cortado {

/// The extents of a tensor, outermost first, in logical order (N x C x H x W) for any memory layout. Zero axes make a
/// scalar of one element; an extent may be zero; at most 32 axes.
class Shape {
 public:
  static constexpr int kMaxAxes = 32;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int axes() const { return int(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[size_t(axis)]; }
  int64_t& operator[](int axis) { return dims_[size_t(axis)]; }
  const std::vector<int64_t>& dims() const { return dims_; }
  bool operator==(const Shape&) const = default;

  /// The number of elements. Throws FieldError("") if the product exceeds 2^62, so a count never overflows.
  int64_t count() const { return count(0, axes()); }
  int64_t count(int from) const { return count(from, axes()); }
  int64_t count(int from, int to) const;  ///< the product of the extents [from, to)

  /// Converts an axis counted from the end (-1 is the last) to one counted from the front; -1 if out of range.
  int canonical_axis(int64_t axis) const;

  std::string str() const;  ///< "64x20x5x5"; a scalar is "scalar"

 private:
  std::vector<int64_t> dims_;
};

/// a * b for extents; throws FieldError("") above 2^62.
int64_t checked_mul(int64_t a, int64_t b);

/// Parses the values of --shape: "1,3,224,224" or "1x3x224x224", optionally preceded by "BLOB=". The key is the blob's
/// name, or "". Throws Error(kUsage).
std::map<std::string, Shape> shapes_from_text(const std::vector<std::string>& texts);

}  // namespace cortado
