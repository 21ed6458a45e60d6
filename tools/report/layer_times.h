#pragma once

#include <nlohmann/json.hpp>

#include "core/context.h"
#include "solvers/solver_nets.h"

namespace cortado::tools {

/// The time of each layer in a pass of the training net: {"batch":..,"forward_ms":..,"backward_ms":..,
/// "peak_gflops":..,"layers":[{"name":..,"type":..,"algorithm":..,"forward_ms":..,"backward_ms":..,"share":..,
/// "forward_gflops":..,"backward_gflops":..}]}. Milliseconds are medians; "share" is of the sum of all layers.
/// Operations per second are those of the definition: Winograd convolutions need fewer, and may exceed the peak, which
/// is null on a GPU. They are null for layers without arithmetic and steps that do not run. Throws as building and
/// running the net do.
nlohmann::ordered_json layer_times(SolverNetReader& reader, Context& context);

}  // namespace cortado::tools
