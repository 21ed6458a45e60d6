#pragma once

#include "core/error.h"

namespace cortado::kernels {

/// What backward_weights writes.
struct WeightGradients {
  float *w = nullptr, *bias = nullptr;   ///< null: not requested
  bool add_w = false, add_bias = false;  ///< accumulate instead of overwriting

  /// A kernel planned without `adds` overwrites all of them; throws an internal error if it is asked for anything else.
  void require_planned(bool adds, bool has_bias) const {
    if (!adds && (!w || (has_bias && !bias) || add_w || add_bias)) throw_internal("a kernel was planned without adds");
  }
};

}  // namespace cortado::kernels
