#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/runs/run_comparison.h"

namespace cortado::tools {

/// {"runs":[path,..],"scores":[{"name":..,"best":"lowest","values":[..]}],"settings":[{"name":..,"values":[..]}],
/// "layers":[{"net":..,"layer":..,"field":..,"values":[..]}],"facts":[{"name":..,"values":[..]}],
/// "files":[{"file":..,"lines":[..]}]}, with a value for each run; "": the run has none. Scores and facts also have the
/// values of the first two runs as "a" and "b", and "files" compares these two.
nlohmann::ordered_json comparison_json(const runs::RunComparison& comparison);

/// A page with the comparison and the curves of all runs. Throws Error(kIo) if metrics cannot be read.
std::string comparison_page(const runs::RunComparison& comparison);

}  // namespace cortado::tools
