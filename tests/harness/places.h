#pragma once

// Where a test finds the files of the source tree. The one file that holds a path of this checkout is places.cc, so
// that every other object is the same wherever the checkout lies, and a compiler cache serves them all.

#include <string>

namespace cortado {

/// The absolute path of `path`, a file or folder given from the repository's root.
std::string in_source(const std::string& path);

}  // namespace cortado
