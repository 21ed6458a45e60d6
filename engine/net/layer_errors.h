#pragma once

// How far the layers of one net are from those of another that should compute the same: an exact one and one that
// rounds.

#include <string>
#include <vector>

#include "net/net.h"

namespace cortado {

/// Of a node's first result, over all batches.
struct LayerError {
  std::string node;
  double signal = 0, noise = 0;  ///< sums of squares: of the exact values, of the differences

  double decibels() const;  ///< signal to noise; +-infinity where one of them is 0
};

class LayerErrors {
 public:
  /// Both nets have the `nodes`, in this order among others, and stand at the same place of their data.
  LayerErrors(Net& exact, Net& rounded, const std::vector<std::string>& nodes);

  /// One forward pass of each, side by side: no more than one result of each is copied at a time.
  void run_batch();
  const std::vector<LayerError>& errors() const { return errors_; }

 private:
  /// Runs steps of `net` from `step` on until the node has run; its values.
  static const std::vector<float>& run_to(Net& net, size_t& step, const std::string& node, std::vector<float>& values);
  static void run_rest(Net& net, size_t step);

  Net &exact_, &rounded_;
  std::vector<LayerError> errors_;
  std::vector<float> exact_values_, rounded_values_;
};

}  // namespace cortado
