#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado::studio {

using Json = nlohmann::ordered_json;

enum class Kind { kActivations, kFilters };

/// Values for the page: {"name", "shape", "least", "most", "mean", "histogram": {"edges", "counts"}}. Planes have a
/// "picture" {"png" in base64, "width", "height", "planes", "shown"}, other values the first 1000 as "values".
Json shown(const std::string& name, const Shape& shape, const std::vector<float>& values, Kind kind);

}  // namespace cortado::studio
