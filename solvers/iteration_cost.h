#pragma once

// What an iteration costs: seconds of its passes, measured; and what one on a device costs before any of it has run:
// how many kernels, copies and fills the device is told, and how many bytes these move. Launches are counted where they
// are made: the iteration is recorded on the simulated device (core/device/recording.h) and thrown away. Where a
// library would run there, a plain kernel of ours does in its place; it counts as the library's one, with the copies
// that the library's candidate makes around it.

#include <string>
#include <vector>

#include "core/device/recording.h"
#include "net/net.h"
#include "solvers/iteration_plan.h"

namespace cortado {

struct StepCost {
  std::string call;                   ///< "forward", "backward", "recompute" or "update"
  std::string type = {}, layer = {};  ///< empty for the update
  int64_t launches = 0;
  Traffic traffic = {};
  bool by_operands = false;  ///< a kernel does not say what it moves: these are the step's operands, each once
};

struct IterationCost {
  std::vector<StepCost> steps;  ///< in their order; those of layers that the host runs are left out
  int64_t launches = 0;
  Traffic traffic;
};

/// Of forward, backward and one update as `plan` has it; with iter_size above 1 of one pass and the update. Neither
/// what brings a batch to the device is counted, nor the number of the pass and the rates, two words that are written
/// outside of what is recorded. `net` is one for training, on a simulated device, whose weights have not been used yet;
/// it is not to be run afterwards.
IterationCost iteration_cost(const IterationPlan& plan, Net& net);

/// Seconds, medians of several passes.
struct PassTimes {
  double forward = 0, backward = 0;
  /// Per part of gradient_parts(), from the last in memory to the first: when backward had completed it, since it
  /// began.
  std::vector<double> complete;
};

/// Runs the net, one that sums up gradients in one piece (Net::gradient_memory()) in the host's memory. Throws what
/// forward() throws.
PassTimes measure_passes(Net& net);

}  // namespace cortado
