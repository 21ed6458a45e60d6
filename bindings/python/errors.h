#pragma once

#include <pybind11/pybind11.h>

namespace cortado::pymodule {

/// Adds cortado.Error, a RuntimeError with the exit code in `code`, and its conversion from C++.
void add_errors(pybind11::module_& module);

}  // namespace cortado::pymodule
