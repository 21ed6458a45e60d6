#pragma once

// Filters in blocks of 16 x 16 (WeightFormat::blocked16), rounded to bfloat16 in the orders that oneDNN's kernels read:
// pairs of the channels that a product sums over lie together. The library's own reorder takes as long as a small
// convolution, 2.8 nanoseconds a weight on one core of a Zen 4, this one what memory takes.

#include <optional>

#include "core/context.h"
#include "kernels/cpu/onednn/onednn.h"

namespace cortado::kernels::onednn {

class RoundedFilters {
 public:
  /// From `stored`, 32-bit floats, to `wanted`; nothing where they are not of the orders known here. `plain` describes
  /// the same filters in row-major order.
  static std::optional<RoundedFilters> between(const Desc& plain, const Desc& stored, const Desc& wanted);

  void run(Context& context, const void* from, void* to) const;

 private:
  int64_t groups_, k_blocks_, c_blocks_, taps_;
  bool pairs_of_inputs_;  ///< else of outputs, for backward_data
  bool c_first_;          ///< blocks of inputs are the outer ones
};

}  // namespace cortado::kernels::onednn
