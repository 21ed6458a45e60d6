#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/shape.h"
#include "tools/program/command.h"

namespace cortado::studio {

/// `cortado-studio look`: runs an image through a trained net and tells, as JSON on stdout, the classes, the net's
/// blobs and layers, and one of them in pictures and numbers. The studio starts it as a child, so that a net that is
/// wrong, or too large for this machine's memory, ends nothing else.
tools::Command look_command();

using Json = nlohmann::ordered_json;

enum class Kind { kActivations, kFilters };

/// Some values for the page: {"name", "shape", "least", "most", "mean", "histogram": {"edges", "counts"}}, with
/// "picture" {"png" in base 64, "width", "height", "planes", "shown"} where they are planes, else with the first 1000
/// of them as "values".
Json shown(const std::string& name, const Shape& shape, const std::vector<float>& values, Kind kind);

}  // namespace cortado::studio
