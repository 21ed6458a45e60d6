#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/context.h"
#include "solvers/solver_nets.h"

namespace cortado::tools {

/// The results of a net on its test set, each record once, or on as much as runs in a minute: json_of() of a test and
/// {"weights":..,"records":..,"limit":..}; "limit" says why there are fewer samples than records, "" if all were used.
/// For a classifier, what JudgedSamples::write() adds. For a detector:
/// "detection":[{"class":..,"name":..,"objects":..,"average_precision":..,"curve":[[recall,precision],..]}],
/// "mean_average_precision" and what DetectedImages::write() adds. Null if the net is neither. `weights` is a file.
/// Skips up to `skip_bad` bad records. Throws as building and running the net do.
nlohmann::ordered_json test_results(const SolverNetFile& net, const std::string& weights, int64_t skip_bad,
                                    Context& context);

}  // namespace cortado::tools
