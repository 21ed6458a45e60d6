#pragma once

#include "core/device/traffic.h"
#include "graph/plan.h"

namespace cortado::graph {

/// The bytes of a step's operands, each once: forward reads x and w and writes y; backward reads dy, those of x and y
/// that it asked for, and w where it makes a dx, and writes dx and dw. The least that its kernels can move.
Traffic operand_traffic(const Plan& plan, const Step& step);

}  // namespace cortado::graph
