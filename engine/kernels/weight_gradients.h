#pragma once

namespace cortado::kernels {

/// What backward_weights writes.
struct WeightGradients {
  float *w = nullptr, *bias = nullptr;   ///< null: not requested
  bool add_w = false, add_bias = false;  ///< accumulate instead of overwriting

  /// Whether all of them are overwritten. A kernel planned without `adds` does only this.
  bool overwrite_all(bool has_bias) const { return w && (bias || !has_bias) && !add_w && !add_bias; }
};

}  // namespace cortado::kernels
