#pragma once

#include <nlohmann/json.hpp>

#include "solvers/solver_nets.h"

namespace cortado::tools {

/// The picture of a net as `cortado draw` makes it: {"image":..,"headline":..}, a data URI of an SVG and the numbers of
/// layers, parameters and operations. Throws as reading the net and its shapes does.
nlohmann::ordered_json net_image(const SolverNetFile& net);

}  // namespace cortado::tools
