#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace cortado::pymodule {

/// Converts None, a name or path, or a list of them.
std::vector<std::string> names_in(const pybind11::object& given);

/// Converts a string or a path to a file name.
std::string path_in(const pybind11::object& given);

}  // namespace cortado::pymodule
