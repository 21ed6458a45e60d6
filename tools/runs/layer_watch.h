#pragma once

// How weights and their gradients are spread, looked at every so many iterations: layers.jsonl, and what TensorBoard
// draws.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "net/net.h"
#include "solvers/observer.h"

namespace cortado::runs {

/// Sums over some numbers, and how many of them lie in each of kBins parts of [least, most].
struct Spread {
  static constexpr int kBins = 30;

  int64_t count = 0;
  double least = 0, most = 0, sum = 0, squares = 0;
  std::vector<int64_t> bins;

  double norm() const;
};
/// Of those that are finite. Bins of more than 16,384 values are estimated from evenly chosen ones.
Spread spread_of(const std::vector<float>& values);

/// One weight of the net at one iteration, before its update.
struct WeightSpread {
  std::string name;  ///< "conv1/0": the layer, and which of its weights
  Spread values, gradients;
};

using SpreadReader = std::function<void(const Progress&, const std::vector<WeightSpread>&)>;

/// Looks every `every` iterations, on the CPU where an iteration is one batch, or several whose gradients are added up:
/// elsewhere gradients are never together where they can be read.
class LayerWatch : public TrainObserver {
 public:
  /// The net outlives this.
  LayerWatch(Net& net, int64_t every);

  /// Told what was seen, after the iteration.
  void add_reader(SpreadReader reader) { readers_.push_back(std::move(reader)); }

  bool wants_gradients(int64_t iter) const override { return every_ > 0 && iter % every_ == 0; }
  void on_gradient(const Progress&, size_t param) override;
  void on_iteration(const Progress&) override;

 private:
  Net& net_;
  const int64_t every_;
  int64_t seen_ = 0;  ///< the iteration that `spreads_` are of
  std::vector<WeightSpread> spreads_;
  std::vector<float> values_;
  std::vector<SpreadReader> readers_;
};

/// Appends a line for each look: {"t":..,"iter":..,"layers":[{"name":..,"weights":{"norm":..,"mean":..,"min":..,
/// "max":..,"bins":[..]},"gradients":{..}}]}. A line that cannot be written is lost.
SpreadReader layer_lines(const std::string& path);

}  // namespace cortado::runs
