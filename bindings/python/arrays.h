#pragma once

// NumPy arrays as floats in row-major order.

#include <pybind11/numpy.h>

#include <vector>

#include "core/shape.h"

namespace cortado::pymodule {

/// An argument, converted if it has another type or order.
using Given = pybind11::array_t<float, pybind11::array::c_style | pybind11::array::forcecast>;

Shape shape_of(const Given& array);
std::vector<float> values_of(const Given& array);

/// An array that takes ownership of the values without a copy.
pybind11::array_t<float> to_python(std::vector<float> values, const Shape& shape);

pybind11::tuple to_python(const Shape& shape);

}  // namespace cortado::pymodule
