#include "layers/blob_shape.h"

#include "core/error.h"

namespace cortado {

Shape shape_of(const caffe::BlobShape& message, const std::string& field) {
  if (message.dim_size() > Shape::kMostAxes)
    throw FieldError(field, "the shape has " + std::to_string(message.dim_size()) + " axes, more than 32");
  for (const int64_t extent : message.dim())
    if (extent < 0) throw FieldError(field, "the extent " + std::to_string(extent) + " is negative");
  const Shape shape(std::vector<int64_t>(message.dim().begin(), message.dim().end()));
  try {
    shape.count();
  } catch (const FieldError& error) {
    throw FieldError(field, error.message());
  }
  return shape;
}

}  // namespace cortado
