#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado::studio {

using Json = nlohmann::ordered_json;

enum class Kind { kActivations, kFilters };

/// Some values for the page: {"name", "shape", "least", "most", "mean", "histogram": {"edges", "counts"}}, with
/// "picture" {"png" in base 64, "width", "height", "planes", "shown"} where they are planes, else with the first 1000
/// of them as "values".
Json shown(const std::string& name, const Shape& shape, const std::vector<float>& values, Kind kind);

}  // namespace cortado::studio
