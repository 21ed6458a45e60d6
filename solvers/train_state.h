#pragma once

// What iterations change besides the net's weights: the progress, the rates and losses, the histories of the update
// rule, the average of the weights. A snapshot holds all of it.

#include <optional>
#include <string>

#include "net/net.h"
#include "solvers/config.h"
#include "solvers/loss_window.h"
#include "solvers/observer.h"
#include "solvers/rank_share.h"
#include "solvers/weight_average.h"
#include "solvers/weight_update.h"

namespace cortado {

struct TrainState {
  /// Takes memory on the net's device. `config` says max_iter; both references outlive this, and so does the engine.
  TrainState(const SolverConfig& config, Net& net, const RankShare& share);
  TrainState(const TrainState&) = delete;
  TrainState& operator=(const TrainState&) = delete;

  /// The number of the forward pass of this iteration's k-th batch, which keys the draws of layers.
  uint64_t pass(int64_t k) const { return uint64_t(progress.iter) * uint64_t(config.iteration.passes()) + uint64_t(k); }
  /// The loss of this iteration; once for each.
  void take_loss(double loss);
  /// The rates of an iteration; once for each, in order, after take_loss() where a rate depends on the loss.
  StepRates next_rates(int64_t iter);

  /// All but the history, which write_snapshot() takes from `update` blob by blob, and what its iterations keep
  /// (Iteration::save()).
  void save(caffe::SolverState& state);
  /// Weights, history and what Caffe's states know; then, of a snapshot that is exact(), the rest but the average.
  /// Throws Error(kSnapshot) where something does not fit.
  void load(const Snapshot& snapshot);
  /// What save() gave of a training like this one, or the part of it that Caffe's states have.
  void load_head(const caffe::SolverState& state);

  const SolverConfig& config;
  Net& net;
  const RankShare share;
  Progress progress;
  Schedule schedule;
  LossWindow window;
  WeightUpdate update;
  std::optional<WeightAverage> average;  ///< with ema_decay
  int64_t newest_snapshot = -1;          ///< its iteration; -1: none is whole yet

 private:
  void save_training(caffe::TrainingState& training);
  void load_training(const caffe::TrainingState& training);
};

}  // namespace cortado
