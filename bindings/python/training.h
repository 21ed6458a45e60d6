#pragma once

// Python's handle of a solver.

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <string>

#include "net/observed_net.h"
#include "solvers/solver.h"

namespace cortado::pymodule {

/// A training and the objects it needs, in order of destruction. Not thread-safe.
class Training : private TrainObserver {
 public:
  Training(SolverFile file, const SolverOptions& options, int threads, const std::string& device);

  /// Trains for some iterations; false if it was stopped early.
  bool step(int64_t iterations);
  void run();
  /// Applies the gradients of passes that the script ran itself.
  void apply_update();
  void snapshot();
  void stop() { requests_.fetch_or(kRequestStop); }
  void close();

  /// Sets a function without arguments that is called before each update; None removes it.
  void set_on_gradients(pybind11::object callback) { on_gradients_ = std::move(callback); }

  /// Throws Error(kUsage) if it is closed.
  Solver& solver();
  /// For nets that use its weights: with this and the training they stay valid after close().
  std::shared_ptr<Solver> shared_solver() { return solver(), solver_; }
  /// The training net (0) or a test net (from 1), ready for use in this thread.
  Net& net(size_t index = 0);
  size_t nets() { return 1 + solver().testers().size(); }
  /// The net with readable blobs and gradients. Throws Error(kUsage) without observe.
  ObservedNet& observed(size_t index);

 private:
  template <typename Work>
  void work(const Work& what);
  void on_iteration(const Progress&) override;
  void on_gradients(const Progress&) override;

  Context context_;
  std::shared_ptr<Solver> solver_;
  std::map<Net*, std::unique_ptr<ObservedNet>> observed_;
  pybind11::object on_gradients_;  ///< empty at first, because the constructor runs without the GIL
  Requests requests_{kRequestNothing};
  bool interrupted_ = false;
};

}  // namespace cortado::pymodule
