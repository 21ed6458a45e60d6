#pragma once

// Events of a run, for progress lines, files of metrics and tests; and requests to it.

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"

namespace cortado {

/// Requests to a run, as bits. Set them by fetch_or, also in a signal handler. The run reads and clears them after each
/// iteration and before each batch of a test.
enum Request : int { kRequestNothing = 0, kRequestStop = 1, kRequestSnapshot = 2 };
using Requests = std::atomic<int>;
static_assert(Requests::is_always_lock_free);

/// The progress of a training. Times are seconds spent in iterations, without tests and snapshots.
struct Progress {
  int64_t iter = 0;        ///< updates done
  int64_t start_iter = 0;  ///< the iteration at which this run began; not 0 after a resume
  int64_t max_iter = 0;
  double loss = 0;              ///< of the latest iteration
  double smoothed_loss = 0;     ///< mean of the latest average_loss iterations
  float rate = 0;               ///< of the latest iteration
  double seconds = 0;           ///< since the start of this run
  double wait_seconds = 0;      ///< part of `seconds`: waiting for data
  int64_t images_per_iter = 0;  ///< batch size times iter_size; 0 without a data layer
  int64_t records = 0;          ///< in the dataset; 0 if unknown or if there is none
};

/// One number of a net's outputs.
struct Score {
  std::string name;
  double value = 0;
  float loss_weight = 0;
};

/// The name of an output in the tests: "accuracy", or "#1 accuracy" for the second test net.
inline std::string name_in_tests(int64_t net, const std::string& output) {
  return (net > 0 ? "#" + std::to_string(net) + " " : "") + output;
}

/// Whether one value of a score is better than another.
inline bool is_better(bool lower_is_better, double value, double other) {
  return lower_is_better ? value < other : value > other;
}

/// A score of the tests (solvers/score_direction.h).
struct TestScore {
  std::string name = {};       ///< name_in_tests()
  size_t net = 0, output = 0;  ///< index of the test net, and of the first value in its list
  int64_t values = 1;          ///< 1, or else it cannot be compared
  bool lower_is_better = false;
  bool is_minimized = false;  ///< training minimizes it
  bool is_main = false;       ///< it represents the training
};

/// The best value so far of a score, after at least one update.
struct BestTestScore {
  std::string name;  ///< as in TestScore
  double value = 0;
  int64_t iter = 0;
};

/// How a run ended without an Error: at max_iter, on request, or by early_stop.
enum class Outcome { kFinished, kStopped, kStoppedEarly };

/// These functions must not throw, except where noted. References are valid during the call only.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_start(const Progress&, const std::vector<TestScore>&) {}
  virtual void on_resume(const Progress&, const std::string& /*state_path*/) {}
  /// Whether on_gradient() is to be called in iteration `iter`.
  virtual bool wants_gradients(int64_t /*iter*/) const { return false; }
  /// Called on the CPU without shards: the gradient of Net::params()[param] is complete and its update is next. At the
  /// first call in a pass, everything before the net's weights in memory is still as forward() left it.
  virtual void on_gradient(const Progress&, size_t /*param*/) {}
  /// Called for observed nets on the CPU without shards: all gradients of an iteration are complete and the update is
  /// next. The observer may change gradients of weights. An exception ends the step.
  virtual void on_gradients(const Progress&) {}
  /// Called after each update; must be cheap and must not allocate. On a device the net may already be at the next
  /// iteration. (After TrainingLoop::step(1) it is at the iteration in `progress`.)
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

/// The observers of a run, which receive every event in the order in which they were added.
class Observers {
 public:
  /// `warnings`: those logged before this object existed.
  explicit Observers(std::vector<std::string> warnings = {}) : early_warnings_(std::move(warnings)) {}

  /// `observer` must outlive this object.
  void add(TrainObserver* observer) { list_.push_back(observer); }

  /// Calls `event` with each observer.
  template <typename Event>
  void tell(const Event& event) const {
    for (TrainObserver* observer : list_) event(*observer);
  }

  /// Logs a warning and passes it to the observers. If there are none yet, saves it for later.
  void warn(const Progress& progress, const std::string& text) {
    log_warning() << text;
    if (list_.empty()) early_warnings_.push_back(text);
    tell([&](TrainObserver& observer) { observer.on_warning(progress, text); });
  }

  /// Passes the saved warnings to the observers, once.
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
