#pragma once

// Statistics of weights and their gradients at every N-th iteration, for layers.jsonl and TensorBoard.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "net/net.h"
#include "solvers/observer.h"

namespace cortado::runs {

/// Statistics of a set of numbers, with the count in each of kBins equal parts of [least, most].
struct Spread {
  static constexpr int kBins = 30;

  int64_t count = 0;
  double least = 0, most = 0, sum = 0, squares = 0;
  std::vector<int64_t> bins;

  double norm() const;
};
/// Of the finite values. Bins of more than 16,384 values are estimated from evenly spaced ones.
Spread spread_of(const std::vector<float>& values);

/// One weight of the net at one iteration, before its update.
struct WeightSpread {
  std::string name;  ///< "conv1/0": the layer, and the index of the weight
  Spread values, gradients;
};

using SpreadReader = std::function<void(const Progress&, const std::vector<WeightSpread>&)>;

/// Reads weights and gradients every `every` iterations. Only on the CPU, and if an iteration is one batch or
/// accumulates several batches: otherwise the gradients are never complete in readable memory.
class LayerWatch : public TrainObserver {
 public:
  /// `net` must outlive this object.
  LayerWatch(Net& net, int64_t every);

  /// Calls `reader` with the statistics after the iteration.
  void add_reader(SpreadReader reader) { readers_.push_back(std::move(reader)); }

  bool wants_gradients(int64_t iter) const override { return every_ > 0 && iter % every_ == 0; }
  void on_gradient(const Progress&, size_t param) override;
  void on_iteration(const Progress&) override;

 private:
  Net& net_;
  const int64_t every_;
  int64_t seen_ = 0;  ///< the iteration of `spreads_`
  std::vector<WeightSpread> spreads_;
  std::vector<float> values_;
  std::vector<SpreadReader> readers_;
};

/// Appends a line for each set of statistics: {"t":..,"iter":..,"layers":[{"name":..,"weights":{"norm":..,"mean":..,
/// "min":..,"max":..,"bins":[..]},"gradients":{..}}]}. A line that cannot be written is lost.
SpreadReader layer_lines(const std::string& path);

}  // namespace cortado::runs
