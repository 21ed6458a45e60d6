#pragma once

// The state that iterations change besides the net's weights: the progress, the rates and losses, the histories of the
// update rule, the average of the weights. A snapshot contains all of it.

#include <optional>
#include <string>

#include "net/net.h"
#include "solvers/carried_states.h"
#include "solvers/config.h"
#include "solvers/loss_window.h"
#include "solvers/observer.h"
#include "solvers/rank_share.h"
#include "solvers/weight_average.h"
#include "solvers/weight_update.h"

namespace cortado {

struct TrainState {
  /// Allocates memory on the net's device. Reads max_iter from `config`. The references and the engine must outlive
  /// this object.
  TrainState(const SolverConfig& config, Net& net, const RankShare& share);
  TrainState(const TrainState&) = delete;
  TrainState& operator=(const TrainState&) = delete;

  /// The number of the forward pass of this iteration's batch k, which keys the random draws of layers.
  uint64_t pass(int64_t k) const { return uint64_t(progress.iter) * uint64_t(config.iteration.passes()) + uint64_t(k); }
  /// Adds the loss of this iteration, which proves a snapshot of its weights if it is finite. Call it once for each.
  void take_loss(double loss);
  /// To be called after a finite loss of the current weights.
  void prove_snapshot();
  /// The rates of an iteration. Call it once for each, in order; after take_loss() if a rate depends on the loss.
  StepRates next_rates(int64_t iter);

  /// Everything but the history, which write_snapshot() reads from `update` blob by blob, what layers carry, and the
  /// state of the iteration (Iteration::save()).
  void save(caffe::SolverState& state);
  /// Restores weights, history and Caffe's fields; from an exact() snapshot also the rest, except the average. Throws
  /// Error(kSnapshot) if something does not match.
  void load(const Snapshot& snapshot);
  /// Called after carried.gather().
  void save_carried(caffe::TrainingState& training) const;
  /// Restores the output of save() of a training like this one, or the part of it that Caffe's states have.
  void load_head(const caffe::SolverState& state);

  const SolverConfig& config;
  Net& net;
  const RankShare share;
  Progress progress;
  Schedule schedule;
  LossWindow window;
  WeightUpdate update;
  CarriedStates carried;
  std::optional<WeightAverage> average;  ///< null without ema_decay
  int64_t newest_snapshot = -1;          ///< its iteration; -1: none is complete yet
  /// Iteration of the newest snapshot that is proven: a later loss, computed with its weights, was finite. -1: none.
  int64_t proven_snapshot = -1;

 private:
  void save_training(caffe::TrainingState& training);
  void load_training(const caffe::TrainingState& training);
};

}  // namespace cortado
