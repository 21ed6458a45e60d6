#pragma once

#include <vector>

#include "net/net.h"

namespace cortado {

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
