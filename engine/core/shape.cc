#include "core/shape.h"

#include "core/error.h"

namespace cortado {

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > (int64_t(1) << 62))
    throw FieldError("", "the size " + std::to_string(a) + " x " + std::to_string(b) + " overflows");
  return product;
}

int64_t Shape::count(int from, int to) const {
  int64_t product = 1;
  for (int axis = from; axis < to; ++axis) product = checked_mul(product, dims_[size_t(axis)]);
  return product;
}

int Shape::canonical_axis(int64_t axis) const {
  if (axis < 0) axis += axes();
  return axis >= 0 && axis < axes() ? int(axis) : -1;
}

std::string Shape::str() const {
  if (dims_.empty()) return "scalar";
  std::string text;
  for (size_t i = 0; i < dims_.size(); ++i) text += (i ? "x" : "") + std::to_string(dims_[i]);
  return text;
}

}  // namespace cortado
