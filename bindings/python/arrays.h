#pragma once

// Arrays of NumPy, as floats in row-major order.

#include <pybind11/numpy.h>

#include <vector>

#include "core/shape.h"

namespace cortado::pymodule {

/// What a caller gave, converted where it is of another type or order.
using Given = pybind11::array_t<float, pybind11::array::c_style | pybind11::array::forcecast>;

Shape shape_of(const Given& array);
std::vector<float> values_of(const Given& array);

/// An array that takes the values over, without a copy.
pybind11::array_t<float> to_python(std::vector<float> values, const Shape& shape);

pybind11::tuple to_python(const Shape& shape);

}  // namespace cortado::pymodule
