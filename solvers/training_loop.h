#pragma once

// Training: the loop of forward, backward and update, with tests, log lines and snapshots where the solver wants them,
// in Caffe's order, so that a run logs and learns what Caffe's would. Where it departs from Caffe: a loss that is not
// finite ends the run; a stop always snapshots.

#include <chrono>
#include <cstdint>
#include <functional>

#include "solvers/checkpointer.h"
#include "solvers/evaluation.h"
#include "solvers/iteration.h"

namespace cortado {

class TrainingLoop {
 public:
  /// References outlive this.
  TrainingLoop(TrainState& state, Iteration& iteration, Evaluation& evaluation, Checkpointer& checkpoints,
               Observers& observers);
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  /// Trains up to max_iter, or until early_stop has enough, then writes the last snapshot and runs the last test.
  /// Throws Error(kDiverged) when the loss is not finite (snapshots written so far are good), and Error(kIo) at the end
  /// when the last snapshot could not be written.
  Outcome run(Requests& requests);
  /// Runs `iterations` more, with the tests, snapshots and log lines that fall among them. False: asked to stop, by a
  /// request or by early_stop.
  bool step(int64_t iterations);
  bool step(int64_t iterations, Requests& requests);
  /// Runs all test nets now. False: asked to stop.
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
  const Clock::duration snapshot_every_;  ///< 0: no snapshots by the clock
  Clock::time_point clocked_ = Clock::now();
  Requests no_requests_{kRequestNothing};
  Requests* requests_ = &no_requests_;
  bool stop_ = false;
  int64_t end_ = 0;  ///< of step()
};

}  // namespace cortado
