#pragma once

// The training loop: forward, backward and update, with tests, log lines and snapshots as the solver requests, in
// Caffe's order. So a run logs and learns the same as Caffe's. Two differences: a loss that is not finite ends the run,
// and a stop always writes a snapshot.

#include <chrono>
#include <cstdint>
#include <functional>

#include "solvers/checkpointer.h"
#include "solvers/evaluation.h"
#include "solvers/iteration.h"

namespace cortado {

class TrainingLoop {
 public:
  /// The references must outlive this object.
  TrainingLoop(TrainState& state, Iteration& iteration, Evaluation& evaluation, Checkpointer& checkpoints,
               Observers& observers);
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  /// Trains up to max_iter or until early_stop ends the run, then writes the last snapshot and runs the last test.
  /// Throws Error(kDiverged) if the loss is not finite (earlier snapshots are good), and Error(kIo) at the end if the
  /// last snapshot could not be written.
  Outcome run(Requests& requests);
  /// Runs `iterations` more, with the tests, snapshots and log lines that are due. Returns false if a request or
  /// early_stop ended it.
  bool step(int64_t iterations);
  bool step(int64_t iterations, Requests& requests);
  /// Runs all test nets now. Returns false if a request ended it.
  bool test();

 private:
  const SolverConfig& config() const { return state_.config; }
  int64_t iter() const { return state_.progress.iter; }
  bool is_looked_after(int64_t done) const;
  void start();
  void finish();
  void poll_snapshot_timer();
  void take_requests();
  void obey(int asked, const std::function<void()>& snapshot);
  void snapshot();

  TrainState& state_;
  Net& net_;
  Iteration& iteration_;
  Evaluation& evaluation_;
  Checkpointer& checkpoints_;
  Observers& observers_;
  using Clock = std::chrono::steady_clock;
  const Clock::duration snapshot_every_;  ///< 0: no snapshots by time
  Clock::time_point clocked_ = Clock::now();
  Requests no_requests_{kRequestNothing};
  Requests* requests_ = &no_requests_;
  bool stop_ = false;
  int64_t end_ = 0;  ///< of step()
};

}  // namespace cortado
