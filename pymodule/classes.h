#pragma once

// The module's classes, one file each.

#include <pybind11/pybind11.h>

namespace cortado::pymodule {

void add_predictor(pybind11::module_& module);
void add_solver(pybind11::module_& module);

}  // namespace cortado::pymodule
