#pragma once

// The two ends of a pass over the losses of a net: their weighted sum after forward, and the gradients that backward
// starts from. Both stay on the net's device.

#include <vector>

#include "core/device/device_memory.h"
#include "graph/plan.h"

namespace cortado {

class Losses {
 public:
  Losses() = default;
  /// `arena`: where the plan's offsets count from; it outlives this.
  Losses(const graph::Plan& plan, std::byte* arena, Context& context);

  /// Writes sum over losses of loss_weight times the sum of their elements to device memory and returns the place.
  const float* add_up(Context& context) const;
  /// The same, on the host: waits for it.
  double read(Context& context) const;

  /// Sets every gradient that starts at a loss to its weight, times *scale (device memory) unless that is null. Padding
  /// lanes stay zero.
  void seed(Context& context, const float* scale) const;

 private:
  struct Term {
    Tensor y;
    float weight;
  };
  std::vector<Term> losses_, seeds_;
  DeviceMemory sums_;  ///< one float for each loss, and then their sum
};

}  // namespace cortado
