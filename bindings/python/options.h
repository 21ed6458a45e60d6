#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace cortado::pymodule {

/// None, a name, or a list of names; of files also paths.
std::vector<std::string> names_in(const pybind11::object& given);

/// A file's name, of text or a path.
std::string path_in(const pybind11::object& given);

}  // namespace cortado::pymodule
