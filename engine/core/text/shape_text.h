#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado {

/// Shapes of inputs as users give them: "1,3,224,224", "1x3x224x224", either with "BLOB=" before it. The key is the
/// blob's name, "" where none is given. Throws Error(kUsage).
std::map<std::string, Shape> shapes_from_text(const std::vector<std::string>& texts);

}  // namespace cortado
