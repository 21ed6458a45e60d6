#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/shape.h"
#include "tools/program/command.h"

namespace cortado::studio {

/// `cortado-studio look`: runs an image through a trained net. Writes JSON to stdout: classes, the net's blobs and
/// layers, and one blob and layer as pictures and statistics. It runs as a child of the studio, so that a net that is
/// invalid or too large for the memory ends only the child.
tools::Command look_command();

using Json = nlohmann::ordered_json;

enum class Kind { kActivations, kFilters };

/// Values for the page: {"name", "shape", "least", "most", "mean", "histogram": {"edges", "counts"}}. Planes have a
/// "picture" {"png" in base64, "width", "height", "planes", "shown"}, other values the first 1000 as "values".
Json shown(const std::string& name, const Shape& shape, const std::vector<float>& values, Kind kind);

}  // namespace cortado::studio
