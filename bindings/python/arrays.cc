#include "bindings/python/arrays.h"

#include <memory>

namespace py = pybind11;

namespace cortado::pymodule {

Shape shape_of(const Given& array) {
  std::vector<int64_t> dims;
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) dims.push_back(array.shape(axis));
  return Shape(dims);
}

std::vector<float> values_of(const Given& array) { return {array.data(), array.data() + array.size()}; }

py::array_t<float> to_python(std::vector<float> values, const Shape& shape) {
  auto owned = std::make_unique<std::vector<float>>(std::move(values));
  const float* const at = owned->data();
  const py::capsule keeper(owned.release(), [](void* held) { delete static_cast<std::vector<float>*>(held); });
  return py::array_t<float>(shape.dims(), at, keeper);
}

py::tuple to_python(const Shape& shape) {
  py::tuple extents(size_t(shape.axes()));
  for (int axis = 0; axis < shape.axes(); ++axis) extents[size_t(axis)] = shape[axis];
  return extents;
}

}  // namespace cortado::pymodule
