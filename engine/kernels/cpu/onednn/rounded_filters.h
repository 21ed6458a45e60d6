#pragma once

// Rounds filters in blocks of 16 x 16 (WeightFormat::blocked16) to bfloat16 in the orders of oneDNN's kernels: pairs of
// the channels of a dot product are adjacent. The library's reorder takes as long as a small convolution, 2.8 ns per
// weight on one core of a Zen 4; this one is memory-bound.

#include <optional>

#include "core/context.h"
#include "kernels/cpu/onednn/onednn.h"

namespace cortado::kernels::onednn {

class RoundedFilters {
 public:
  /// From `stored`, 32-bit floats, to `needed`; nullopt for unknown orders. `plain` describes the same filters in
  /// row-major order.
  static std::optional<RoundedFilters> between(const Desc& plain, const Desc& stored, const Desc& needed);

  void run(Context& context, const void* from, void* to) const;

 private:
  int64_t groups_, k_blocks_, c_blocks_, taps_;
  bool pairs_of_inputs_;  ///< else pairs of outputs, for backward_data
  bool c_first_;          ///< blocks of inputs are outermost
};

}  // namespace cortado::kernels::onednn
