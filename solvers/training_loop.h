#pragma once

// Training: the loop of forward, backward and update, with tests, log lines and snapshots where the solver wants them,
// in Caffe's order, so that a run logs and learns what Caffe's would. Where it departs from Caffe: a loss that is not
// finite ends the run; a stop always snapshots.

#include <cstdint>
#include <functional>
#include <string>

#include "solvers/checkpointer.h"
#include "solvers/evaluation.h"
#include "solvers/observers.h"
#include "solvers/requests.h"
#include "solvers/scores.h"
#include "solvers/train_state.h"

namespace cortado {

class TrainingLoop {
 public:
  /// References outlive this.
  TrainingLoop(TrainState& state, Evaluation& evaluation, Checkpointer& checkpoints, Observers& observers);
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  /// Trains up to max_iter, or until early_stop has enough, then writes the last snapshot and runs the last test.
  /// Throws Error(kDiverged) when the loss is not finite (snapshots written so far are good), and Error(kIo) at the end
  /// when the last snapshot could not be written.
  Outcome run(Requests& requests);
  /// Runs `iterations` more, with the tests, snapshots and log lines that fall among them. False: asked to stop, by a
  /// request or by early_stop.
  bool step(int64_t iterations);
  /// Runs all test nets now. False: asked to stop.
  bool test();

 private:
  const caffe::SolverParameter& config() const { return state_.config; }
  int64_t iter() const { return state_.progress.iter; }
  bool displays() const { return config().display() > 0 && iter() % config().display() == 0; }
  void start();
  void finish();
  void iterate();
  void iterate_on_cpu(bool display);
  void iterate_on_device(bool display);
  void iterate_shards(bool display);
  StepState step_after_loss(bool verbose);
  double forward_backward();
  double forward_finite(int k);
  void require_finite(double loss);
  [[noreturn]] void throw_diverged(const std::string& what, const std::string& hint);
  void log_display();
  void take_requests();
  void obey(int asked, const std::function<void()>& snapshot);
  void snapshot();

  TrainState& state_;
  Net& net_;
  Evaluation& evaluation_;
  Checkpointer& checkpoints_;
  Observers& observers_;
  OutputReader outputs_;
  Requests no_requests_{kRequestNothing};
  Requests* requests_ = &no_requests_;
  bool stop_ = false;
  int agreed_ = kRequestNothing;  ///< what ranks were asked for
  double shown_seconds_ = 0;      ///< clock at the latest display
  int64_t shown_iter_ = 0;
};

}  // namespace cortado
