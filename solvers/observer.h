#pragma once

// What a run tells those outside, a progress line, a file of metrics, a test; and what they may ask of it.

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"

namespace cortado {

/// Requests from outside to a run: bits, set by fetch_or, also in a signal handler. The run reads and clears them after
/// each iteration and before each batch of a test.
enum Request : int { kRequestNothing = 0, kRequestStop = 1, kRequestSnapshot = 2 };
using Requests = std::atomic<int>;
static_assert(Requests::is_always_lock_free);

/// Where training stands. Times are in seconds of iterations alone, without tests and snapshots.
struct Progress {
  int64_t iter = 0;        ///< updates made
  int64_t start_iter = 0;  ///< where this run began: not 0 after a resume
  int64_t max_iter = 0;
  double loss = 0;              ///< of the latest iteration
  double smoothed_loss = 0;     ///< mean of the latest average_loss iterations
  float rate = 0;               ///< of the latest iteration
  double seconds = 0;           ///< spent in this run
  double wait_seconds = 0;      ///< of those, spent waiting for data
  int64_t images_per_iter = 0;  ///< batch size times iter_size; 0 if there is no data layer
  int64_t records = 0;          ///< of the dataset; 0 where it is not known, or there is none
};

/// One number that a net gave out.
struct Score {
  std::string name;
  double value = 0;
  float loss_weight = 0;
};

/// The best value that an output of a test net has had: the least for losses, the greatest for everything else.
struct BestTestScore {
  std::string name;  ///< "accuracy", or "#1 accuracy" for the second test net
  double value = 0;
  int64_t iter = 0;
};

/// How a run ended without an Error: at max_iter, on request, by early_stop.
enum class Outcome { kFinished, kStopped, kStoppedEarly };

/// Nothing here may throw but where it is said. References are valid during the call only.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_start(const Progress&) {}
  virtual void on_resume(const Progress&, const std::string& /*state_path*/) {}
  /// Whether on_gradient() is to be called in iteration `iter`.
  virtual bool wants_gradients(int64_t /*iter*/) const { return false; }
  /// On the CPU and without shards: the gradient of Net::params()[param] is whole, and its update comes next. What lies
  /// in front of the net's weights is still as forward() left it, at the first of these calls in a pass.
  virtual void on_gradient(const Progress&, size_t /*param*/) {}
  /// Of nets that are observed, on the CPU and without shards: an iteration's gradients are whole, and the update comes
  /// next. Those of weights may be changed. What this one throws ends the step.
  virtual void on_gradients(const Progress&) {}
  /// After each update; must be cheap and allocate nothing. A device's net may be at the next iteration already
  /// (TrainingLoop::step(1) ends with the net as `progress` tells).
  virtual void on_iteration(const Progress&) {}
  /// At each display, before the update of that iteration: `progress.iter` is the iteration shown.
  virtual void on_display(const Progress&, const std::vector<Score>& /*outputs*/) {}
  virtual void on_test_batch(const Progress&, int /*net*/, int /*done*/, int /*of*/) {}
  virtual void on_test(const Progress&, int /*net*/, const std::vector<Score>&, const std::vector<BestTestScore>&) {}
  virtual void on_snapshot(const Progress&, const std::string& /*state_path*/) {}
  virtual void on_warning(const Progress&, const std::string& /*text*/) {}
  virtual void on_diverged(const Progress&, const std::string& /*text*/) {}
  virtual void on_end(const Progress&, Outcome) {}
};

/// The observers of a run: each is told of every event, in the order in which they were added.
class Observers {
 public:
  /// `warnings`: those logged before this was made.
  explicit Observers(std::vector<std::string> warnings = {}) : early_warnings_(std::move(warnings)) {}

  /// `observer` outlives this.
  void add(TrainObserver* observer) { list_.push_back(observer); }

  /// Calls `event` with each observer.
  template <typename Event>
  void tell(const Event& event) const {
    for (TrainObserver* observer : list_) event(*observer);
  }

  /// Logs a warning and tells it. Where there is no observer yet, it is kept for tell_early_warnings().
  void warn(const Progress& progress, const std::string& text) {
    log_warning() << text;
    if (list_.empty()) early_warnings_.push_back(text);
    tell([&](TrainObserver& observer) { observer.on_warning(progress, text); });
  }

  /// Tells the warnings that no observer has seen, once.
  void tell_early_warnings(const Progress& progress) {
    for (const std::string& text : early_warnings_)
      tell([&](TrainObserver& observer) { observer.on_warning(progress, text); });
    early_warnings_.clear();
  }

 private:
  std::vector<TrainObserver*> list_;
  std::vector<std::string> early_warnings_;
};

}  // namespace cortado
