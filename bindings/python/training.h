#pragma once

// A solver as Python holds it.

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <string>

#include "net/observed_net.h"
#include "solvers/solver.h"

namespace cortado::pymodule {

/// A training and what it needs, in the order in which they go. One thread uses it at a time.
class Training : private TrainObserver {
 public:
  Training(SolverFile file, const SolverOptions& options, int threads, const std::string& device);

  /// So many iterations. False: something ended them early.
  bool step(int64_t iterations);
  void run();
  /// By the gradients that passes of the script's own have left.
  void apply_update();
  void snapshot();
  void stop() { requests_.fetch_or(kRequestStop); }
  void close();

  /// Before each update, a function without arguments; None: no more.
  void set_on_gradients(pybind11::object callback) { on_gradients_ = std::move(callback); }

  /// Throws Error(kUsage) where it is closed.
  Solver& solver();
  /// For nets that use its weights: with this and the training itself they stay, also when it is closed.
  std::shared_ptr<Solver> shared_solver() { return solver(), solver_; }
  /// The net that learns, and with 1 the first test net, and so on: ready to be worked with in this thread.
  Net& net(size_t index = 0);
  size_t nets() { return 1 + solver().testers().size(); }
  /// The same to be looked at. Throws Error(kUsage) where the training was not made for that.
  ObservedNet& observed(size_t index);

 private:
  template <typename Work>
  void work(const Work& what);
  void enter();
  void on_iteration(const Progress&) override;
  void on_gradients(const Progress&) override;

  Context context_;
  std::shared_ptr<Solver> solver_;
  std::map<Net*, std::unique_ptr<ObservedNet>> observed_;
  pybind11::object on_gradients_;  ///< none at first: a training is made without Python's lock
  Requests requests_{kRequestNothing};
  bool interrupted_ = false;
};

}  // namespace cortado::pymodule
