#pragma once

// One iteration of training: forward, backward, update and its results. A training uses one of four kinds: one shard on
// the CPU (iteration.cc), several shards (shard_training.h), several shards with local updates (local_steps.h), or any
// number of shards on a device (device_iteration.h).

#include <memory>
#include <string>
#include <utility>

#include "solvers/observer.h"
#include "solvers/scores.h"
#include "solvers/train_state.h"

namespace cortado {

class Iteration {
 public:
  /// The references must outlive this object.
  Iteration(TrainState& state, Observers& observers);
  virtual ~Iteration() = default;
  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;

  /// Runs one iteration. `asked`: Request flags of this rank, to be sent to the others. `looked_at`: the caller needs
  /// the result before the next iteration. Throws Error(kDiverged) if a loss or a gradient is not finite.
  void iterate(int asked, bool looked_at);
  /// Returns and clears the requests of all ranks, from iterations whose results were read.
  int take_requests() { return std::exchange(requests_, int(kRequestNothing)); }
  /// Updates the weights after the caller has run the passes. Throws Error(kUsage) if iterations have several shards.
  void apply_update();

  /// Whether an iteration was submitted whose result was not read; progress does not count it yet.
  virtual bool is_unseen() const { return false; }
  /// Waits for that iteration, if there is one, and reads its result.
  virtual void see() {}
  int64_t begun() const { return iter() + (is_unseen() ? 1 : 0); }
  /// Starts the timing of displays.
  void begin_display();

  // State of the iteration itself, for snapshots and for other ranks.

  /// Collective, before the first iteration: opens SolverOptions::device_engine.
  virtual void connect(const std::string& /*engine*/) {}
  virtual void save(caffe::TrainingState& /*training*/) {}
  virtual void load(const caffe::TrainingState& /*training*/) {}
  /// Collective. gather: the first rank receives all histories, until drop_histories(). share: the first rank
  /// distributes the histories that it has loaded or initialized.
  virtual void gather_histories();
  virtual void share_histories();
  virtual void drop_histories() { state_.update.drop_whole(); }
  /// Called on the first rank: saves the histories that do not fit into Caffe's fields of the state.
  virtual void save_histories(caffe::TrainingState& /*training*/) {}
  /// Throws Error(kSnapshot) with `path` if sizes do not match.
  virtual void load_histories(const caffe::SolverState& /*state*/, const std::string& /*path*/) {}

  /// Throws Error(kDiverged) with the names of what is not finite.
  void require_finite(double loss);

 protected:
  virtual void run(int asked, bool looked_at) = 0;
  virtual void update(const StepRates& rates);

  const SolverConfig& config() const { return state_.config; }
  int64_t iter() const { return state_.progress.iter; }
  bool displays() const { return config().displays(iter()); }
  [[noreturn]] void throw_diverged(const std::string& what, const std::string& hint);
  void log_display();
  /// Adds the time since the iteration began, or since the last call, to the training time.
  void count_time();
  /// Called after the weights changed: updates their moving average.
  void add_to_average();
  /// Called when an iteration is complete and its result was read.
  void complete();

  TrainState& state_;
  Net& net_;
  Observers& observers_;
  int requests_ = kRequestNothing;  ///< from all ranks

 private:
  void begin_time();
  std::string cause_of(const NotFinite& first, const std::string& hint) const;

  OutputReader outputs_;
  double began_ = 0, waited_ = 0;  ///< clock, and seconds spent waiting for data, at begin_time()
  double shown_seconds_ = 0;       ///< clock at the latest display
  int64_t shown_iter_ = 0;
};

constexpr const char* kLearnLess = "a smaller base_lr or clip_gradients may help";

/// Creates the kind that the net, the shards and the solver require.
std::unique_ptr<Iteration> make_iteration(TrainState& state, Observers& observers);

}  // namespace cortado
