#pragma once

// Training: the loop of forward, backward and update, with tests, log lines and snapshots where the solver file wants
// them, in Caffe's order, so that a run logs and learns what Caffe's would. Where it departs from Caffe: a loss that is
// not finite ends the run; a snapshot holds all that training is, so a resumed run goes on bit for bit; a stop always
// snapshots.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/context.h"
#include "net/net.h"
#include "proto/read_text.h"
#include "solvers/device_training.h"
#include "solvers/early_stop.h"
#include "solvers/loss_window.h"
#include "solvers/observer.h"
#include "solvers/schedule.h"
#include "solvers/snapshot.h"
#include "solvers/solver_nets.h"
#include "solvers/tester.h"
#include "solvers/weight_average.h"
#include "solvers/weight_update.h"

namespace cortado {

/// What somebody outside asks of a run: bits, set by fetch_or, also in a signal handler. Looked at after each iteration
/// and before each batch of a test, and cleared then.
enum Request : int { kRequestNothing = 0, kRequestStop = 1, kRequestSnapshot = 2 };
using Requests = std::atomic<int>;
static_assert(Requests::is_always_lock_free);

class Solver {
 public:
  /// Checks the file, finds what to resume from, builds the nets, loads weights. Sets context.seed: the solver's
  /// random_seed, or that of the snapshot, or one picked and logged. `context` outlives this. Throws Error for every
  /// mistake.
  Solver(SolverFile file, const SolverOptions& options, Context& context);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// `observer` outlives this. To be called before run().
  void add_observer(TrainObserver* observer) { observers_.push_back(observer); }

  /// Trains up to max_iter, or until early_stop has enough, then writes the last snapshot and runs the last test.
  /// Throws Error(kDiverged) when the loss is not finite (snapshots written so far are good), and Error(kIo) at the end
  /// when the last snapshot could not be written.
  Outcome run(Requests& requests);

  /// Runs `iterations` more, with the tests, snapshots and log lines that fall among them. False: asked to stop.
  bool step(int64_t iterations);
  /// Runs all test nets now.
  void test();
  /// Writes a snapshot now. Throws Error.
  void snapshot();

  int64_t iter() const { return progress_.iter; }
  double loss() const { return progress_.loss; }  ///< of the latest iteration
  const Progress& progress() const { return progress_; }
  const caffe::SolverParameter& config() const { return file_.solver; }
  Net& net() { return *nets_.train; }
  std::vector<Tester>& testers() { return testers_; }
  std::vector<std::unique_ptr<Net>>& test_nets() { return nets_.tests; }
  const std::string& resumed_from() const { return resumed_from_; }  ///< path of the state, or ""
  /// What the net's blobs, weights, gradients and the history take, in bytes.
  int64_t memory_bytes() const;

 private:
  void choose_seed(const std::optional<Snapshot>& snapshot);
  void restore(const Snapshot& snapshot);
  void restore_training(const caffe::TrainingState& training, const std::string& path);
  void restore_average(const caffe::TrainingState& training, const std::string& path);
  void remember_kernels(const caffe::TrainingState& training);
  void compare_choices(const caffe::TrainingState& training);
  caffe::SolverState state();
  void save_training(caffe::TrainingState& training);
  void save_memories(caffe::TrainingState& training) const;

  void iterate();
  StepRates next_rates();
  void iterate_on_cpu(bool display);
  void iterate_on_device(bool display);
  StepState step_after_loss(bool verbose);
  double forward_backward();
  double forward_finite(int k);
  void require_finite(double loss);
  void take_loss(double loss);
  void forward(uint64_t pass);
  void log_display();
  void finish();
  bool test_all();
  bool run_test(size_t index);
  void keep_best(size_t index);
  void use_score(size_t index);
  void set_max_iter(int max_iter);
  void make_testers();
  void say_best() const;
  bool is_test_due() const;
  void take_requests();
  void try_snapshot();
  void check_space();
  void claim_prefix();
  [[noreturn]] void throw_diverged(const std::string& what, const std::string& hint);
  void warn(const std::string& text);
  /// Data positions and pass counters of the test nets, as a snapshot stores them.
  void save_tests(caffe::TrainingState& training) const;
  template <typename Work>
  auto at_its_field(const Work& work) -> decltype(work());
  template <typename Event>
  void tell(const Event& event) {
    for (TrainObserver* observer : observers_) event(*observer);
  }

  SolverFile file_;
  Context& context_;
  std::optional<SnapshotLock> lock_;
  SolverNets nets_;
  std::unique_ptr<OutputReader> outputs_;
  std::vector<Tester> testers_;
  Schedule schedule_;
  LossWindow window_;
  std::optional<WeightUpdate> update_;
  std::optional<DeviceTraining> device_;  ///< where the net does not run on the CPU
  std::vector<TrainObserver*> observers_;
  std::vector<std::string> early_warnings_;  ///< from before there were observers
  std::vector<BestTestScore> best_;
  std::optional<WeightAverage> average_;
  std::optional<Metric> plateau_metric_;
  std::optional<EarlyStop> early_stop_;
  bool stops_early_ = false;
  Progress progress_;
  Requests no_requests_{kRequestNothing};
  Requests* requests_ = &no_requests_;
  bool stop_ = false;
  std::string resumed_from_;
  std::string run_;                                  ///< identity of the training: that of the snapshot, or a new one
  std::vector<std::string> started_from_;            ///< files of weights
  int64_t last_snapshot_ = -1;                       ///< iteration of the newest that is whole
  std::optional<Error> failed_snapshot_;             ///< why the newest attempt failed
  std::optional<caffe::TrainingState> before_test_;  ///< during a test: where the test nets stood when it began
  double shown_seconds_ = 0;                         ///< clock at the latest display
  int64_t shown_iter_ = 0;
};

}  // namespace cortado
