#pragma once

// The cost of an iteration: measured seconds of its passes; and for a device, before anything has run there, the
// numbers of kernels, copies and fills that are launched and the bytes that these move. The iteration is recorded on
// the simulated device (core/device/recording.h), which counts the launches, and the recording is discarded. A library
// call is recorded as a plain kernel of ours. It counts as the library's kernel, with the copies that the library's
// candidate makes around it.

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
  bool by_operands = false;  ///< the kernel does not report its traffic: the bytes of the step's operands, each once
};

struct IterationCost {
  std::vector<StepCost> steps;  ///< in execution order, without those of layers that run on the host
  int64_t launches = 0;
  Traffic traffic;
};

/// The cost of forward, backward and one update according to `plan`; with iter_size above 1, of one pass and the
/// update. Not counted: copying a batch to the device, and the two words for the number of the pass and the rates,
/// which are written outside the recording. `net` is a training net on a simulated device whose weights have not been
/// used yet. Do not run it afterwards.
IterationCost iteration_cost(const IterationPlan& plan, Net& net);

/// Seconds, each the median of several passes.
struct PassTimes {
  double forward = 0, backward = 0;
  /// For each part of gradient_parts(), from the last in memory to the first: the time from the start of backward until
  /// the part was complete.
  std::vector<double> complete;
};

/// Runs the net, which must sum gradients in one block of host memory (Net::gradient_memory()). Throws what forward()
/// throws.
PassTimes measure_passes(Net& net);

}  // namespace cortado
