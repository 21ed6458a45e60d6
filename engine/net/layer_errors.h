#pragma once

// The difference between the layers of two nets that compute the same: one exactly, the other with rounding.

#include <string>
#include <vector>

#include "net/net.h"

namespace cortado {

/// Error of a node's first result, over all batches.
struct LayerError {
  std::string node;
  double signal = 0, noise = 0;  ///< sums of squares of the exact values and of the differences

  double decibels() const;  ///< signal-to-noise ratio; +-infinity if one of them is 0
};

class LayerErrors {
 public:
  /// Both nets must contain `nodes` in this order, and be at the same position of their data.
  LayerErrors(Net& exact, Net& rounded, const std::vector<std::string>& nodes);

  /// One forward pass of each net, in lockstep: at most one result of each is copied at a time.
  void run_batch();
  const std::vector<LayerError>& errors() const { return errors_; }

 private:
  /// Runs steps of `net` from `step` up to the node; returns the node's values.
  static const std::vector<float>& run_to(Net& net, size_t& step, const std::string& node, std::vector<float>& values);
  static void run_rest(Net& net, size_t step);

  Net &exact_, &rounded_;
  std::vector<LayerError> errors_;
  std::vector<float> exact_values_, rounded_values_;
};

}  // namespace cortado
