#pragma once

// One iteration of training: forward, backward, update, and what is seen of it. There are four kinds, and a training
// has one of them: one shard on the CPU (iteration.cc), several (shard_training.h), several that make updates by
// themselves (local_steps.h), and whatever runs on a device (device_iteration.h).

#include <memory>
#include <string>
#include <utility>

#include "solvers/observer.h"
#include "solvers/scores.h"
#include "solvers/train_state.h"

namespace cortado {

class Iteration {
 public:
  /// References outlive this.
  Iteration(TrainState& state, Observers& observers);
  virtual ~Iteration() = default;
  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;

  /// Makes one. `asked`: Request flags of this rank, for the others. `looked_at`: something looks at what became of it
  /// before there is another one. Throws Error(kDiverged) where a loss or a gradient is not finite.
  void iterate(int asked, bool looked_at);
  /// What all ranks were asked for in iterations that were seen, since this was called.
  int take_requests() { return std::exchange(requests_, int(kRequestNothing)); }
  /// The update of an iteration whose passes somebody else has run. Throws Error(kUsage) where iterations have shards.
  void apply_update();

  /// Whether one was begun that is not seen: progress counts iterations that were.
  virtual bool is_unseen() const { return false; }
  /// Waits for the one that is unseen, if there is one, and takes in what became of it.
  virtual void see() {}
  int64_t begun() const { return iter() + (is_unseen() ? 1 : 0); }
  /// The times of displays count from now on.
  void begin_display();

  // What it keeps besides the state, for snapshots and for other ranks.

  /// Collective, before the first iteration: opens SolverOptions::device_engine.
  virtual void connect(const std::string& /*engine*/) {}
  virtual void save(caffe::TrainingState& /*training*/) {}
  virtual void load(const caffe::TrainingState& /*training*/) {}
  /// Collective: the first rank has all histories afterwards, until drop_histories(); and the way back for those that
  /// it has loaded or, where it has not, begun with.
  virtual void gather_histories();
  virtual void share_histories();
  virtual void drop_histories() { state_.update.drop_whole(); }
  /// By the first rank: histories that a state has beside those where Caffe's are.
  virtual void save_histories(caffe::TrainingState& /*training*/) {}
  /// Throws Error(kSnapshot) naming `path` where sizes do not fit.
  virtual void load_histories(const caffe::SolverState& /*state*/, const std::string& /*path*/) {}

 protected:
  virtual void run(int asked, bool looked_at) = 0;
  virtual void update(const StepRates& rates);

  const SolverConfig& config() const { return state_.config; }
  int64_t iter() const { return state_.progress.iter; }
  bool displays() const { return config().displays(iter()); }
  void require_finite(double loss);
  [[noreturn]] void throw_diverged(const std::string& what, const std::string& hint);
  void log_display();
  /// What passed since the iteration began, or since this was called, was training's.
  void count_time();
  /// The weights have changed: takes them into their average.
  void add_to_average();
  /// An iteration is done and seen.
  void complete();

  TrainState& state_;
  Net& net_;
  Observers& observers_;
  int requests_ = kRequestNothing;  ///< of all ranks

 private:
  void begin_time();

  OutputReader outputs_;
  double began_ = 0, waited_ = 0;  ///< clock, and seconds waited for data, at begin_time()
  double shown_seconds_ = 0;       ///< clock at the latest display
  int64_t shown_iter_ = 0;
};

constexpr const char* kLearnLess = "a smaller base_lr or clip_gradients may help";

/// The kind that the state's net, shards and solver want.
std::unique_ptr<Iteration> make_iteration(TrainState& state, Observers& observers);

}  // namespace cortado
