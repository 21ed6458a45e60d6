#pragma once

// The module's classes, each in its own file.

#include <pybind11/pybind11.h>

namespace cortado::pymodule {

void add_dataset(pybind11::module_& module);
void add_net(pybind11::module_& module);
void add_predictor(pybind11::module_& module);
void add_solver(pybind11::module_& module);

/// Free functions.
void add_functions(pybind11::module_& module);

}  // namespace cortado::pymodule
