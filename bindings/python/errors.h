#pragma once

#include <pybind11/pybind11.h>

namespace cortado::pymodule {

/// cortado.Error, a RuntimeError with the exit code in `code`, and the way from C++ to it.
void add_errors(pybind11::module_& module);

}  // namespace cortado::pymodule
