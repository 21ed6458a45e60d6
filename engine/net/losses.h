#pragma once

// The losses of a net: their weighted sum after forward, and the gradients that backward starts from. Both are on the
// net's device.

#include <vector>

#include "core/device/device_memory.h"
#include "graph/plan.h"

namespace cortado {

class Losses {
 public:
  Losses() = default;
  /// `arena`: base of the plan's offsets; must outlive this object.
  Losses(const graph::Plan& plan, std::byte* arena, Context& context);

  /// Writes the sum over losses of loss_weight times the sum of their elements to device memory; returns its address.
  const float* add_up(Context& context) const;
  /// The same sum on the host; waits for the device.
  double read(Context& context) const;

  /// Sets every gradient that starts at a loss to the loss weight, times *scale (device memory) unless null. Padding
  /// lanes stay zero.
  void seed(Context& context, const float* scale) const;

 private:
  struct Term {
    Tensor y;
    float weight;
  };
  std::vector<Term> losses_, seeds_;
  DeviceMemory sums_;  ///< one float per loss, then their sum
};

}  // namespace cortado
