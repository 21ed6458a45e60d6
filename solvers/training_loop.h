#pragma once

// Training: the loop of forward, backward and update, with tests, log lines and snapshots where the solver wants them,
// in Caffe's order, so that a run logs and learns what Caffe's would. Where it departs from Caffe: a loss that is not
// finite ends the run; a stop always snapshots.
//
// A device is told an iteration before the host sees what became of the one before, unless something looks at that one:
// a display, a test, a snapshot, the rate, a request, the end. Progress counts iterations that were seen, so all but
// the telling happens in the order in which it would happen without.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "solvers/checkpointer.h"
#include "solvers/evaluation.h"
#include "solvers/observers.h"
#include "solvers/requests.h"
#include "solvers/scores.h"
#include "solvers/snapshot_clock.h"
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
  bool step(int64_t iterations, Requests& requests);
  /// The update of an iteration whose passes somebody else has run: by the gradients that the net has, which
  /// BuildOptions::transient_gradients would not keep. Throws Error(kUsage) where iterations have shards.
  void apply_update();
  /// Runs all test nets now. False: asked to stop.
  bool test();

 private:
  const caffe::SolverParameter& config() const { return state_.config; }
  int64_t iter() const { return state_.progress.iter; }
  bool displays(int64_t iter) const { return config().display() > 0 && iter % config().display() == 0; }
  bool snapshot_is_due(int64_t iter) const { return config().snapshot() > 0 && iter % config().snapshot() == 0; }
  /// Iterations that were begun: on a device one more, perhaps, than were seen.
  int64_t begun() const { return iter() + (unseen_ ? 1 : 0); }
  bool looks_after(int64_t iter) const;
  void start();
  void finish();
  void iterate();
  void iterate_on_cpu();
  void iterate_shards();
  void iterate_local_steps();
  void iterate_on_device();
  void tell_device(int64_t iter, bool verbose);
  void iterate_after_loss(bool verbose);
  void see();
  void require_good(const StepState& step);
  void begin_time();
  void count_time();
  void complete();
  double forward_backward();
  double forward_finite(int k);
  void require_finite(double loss);
  [[noreturn]] void throw_diverged(const std::string& what, const std::string& hint);
  void log_display();
  int own_requests();
  void take_requests();
  void obey(int asked, const std::function<void()>& snapshot);
  void heed_clock();
  void snapshot();

  TrainState& state_;
  Net& net_;
  Evaluation& evaluation_;
  Checkpointer& checkpoints_;
  Observers& observers_;
  OutputReader outputs_;
  SnapshotClock snapshot_clock_;
  Requests no_requests_{kRequestNothing};
  Requests* requests_ = &no_requests_;
  bool stop_ = false;
  int agreed_ = kRequestNothing;  ///< what ranks were asked for
  int64_t end_ = 0;               ///< of step()
  /// The iteration that a device was told and the host has not seen, by the rate that it was told; its number is
  /// iter().
  std::optional<float> unseen_;
  double began_ = 0, waited_ = 0;  ///< clock, and seconds waited for data, at begin_time()
  double shown_seconds_ = 0;       ///< clock at the latest display
  int64_t shown_iter_ = 0;
};

}  // namespace cortado
