#pragma once

#include "graph/plan.h"

namespace cortado::graph {

/// Prepares every layer of plan.graph, whose layouts are chosen, and fills plan.needs and plan.w_formats.
/// `formats_from`: the plan of the net whose weights this one will use, or null. Throws Error(kNet).
void prepare_layers(Plan& plan, Context& context, const Plan* formats_from);

}  // namespace cortado::graph
