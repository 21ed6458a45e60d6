#pragma once

// Paths of the source tree. Only places.cc contains the path of this checkout, so that a compiler cache can serve all
// other objects to every checkout.

#include <string>

namespace cortado {

/// The absolute path of `path`, a file or folder relative to the repository's root.
std::string in_source(const std::string& path);

}  // namespace cortado
