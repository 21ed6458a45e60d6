#include "layers/common/shape_rules.h"

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

int axis_of(const Shape& shape, int64_t axis, const std::string& field) {
  const int found = shape.canonical_axis(axis);
  if (found >= 0) return found;
  const std::string axes = std::to_string(shape.axes()), last = std::to_string(shape.axes() - 1);
  throw FieldError(
      field, "axis " + std::to_string(axis) + " does not exist: bottom[0] has shape " + shape.str(),
      shape.axes() == 0 ? "a scalar has no axes" : "axes go from 0 to " + last + ", or from -" + axes + " to -1");
}

void require_same_shapes(const std::vector<Shape>& x) {
  for (size_t i = 1; i < x.size(); ++i)
    if (x[i] != x[0])
      throw FieldError(entry("bottom", int64_t(i)), "its shape is " + x[i].str() + ", but bottom[0] has " + x[0].str(),
                       "all bottoms must have the same shape; broadcasting is not supported");
}

void require_axes(const Shape& shape, int least) {
  if (shape.axes() >= least) return;
  throw FieldError("bottom[0]", "its shape " + shape.str() + " has " + count_of(shape.axes(), "axis", "axes") +
                                    "; this layer needs at least " + std::to_string(least));
}

Shape shape_of(const caffe::BlobShape& message, const std::string& field) {
  if (message.dim_size() > Shape::kMaxAxes)
    throw FieldError(field, "the shape has " + std::to_string(message.dim_size()) + " axes, more than 32");
  for (const int64_t extent : message.dim()) require_extent(extent, field);
  const Shape shape(std::vector<int64_t>(message.dim().begin(), message.dim().end()));
  count_of_elements(shape, field);
  return shape;
}

void require_extent(int64_t extent, const std::string& field) {
  if (extent < 0) throw FieldError(field, "the extent " + std::to_string(extent) + " is negative");
  if (extent > int64_t(1) << 40)
    throw FieldError(field, "the extent " + std::to_string(extent) + " is more than any memory holds");
}

int64_t count_of_elements(const Shape& shape, const std::string& field) {
  try {
    return shape.count();
  } catch (const FieldError& error) {
    throw FieldError(field, error.message());
  }
}

}  // namespace cortado
