#pragma once

// A training from a solver's prototxt. Not thread-safe, except for stop().

#include <cortado/error.h>
#include <cortado/predictor.h>

#include <cstdint>
#include <string>

namespace cortado {

struct SolverOptions {
  int threads = 0;       ///< compute threads; 0: all cores
  std::string snapshot;  ///< a .solverstate to resume exactly, or "auto": the newest one, if any
  std::string weights;   ///< comma-separated files of initial weights
  std::string device = "cpu";
  std::string precision;  ///< "": as in the solver
};

class Solver {
 public:
  /// Throws Error.
  explicit Solver(const std::string& file, const SolverOptions& options = {}) {
    cortado_solver_options plain = CORTADO_SOLVER_OPTIONS;
    plain.threads = options.threads;
    plain.snapshot = options.snapshot.empty() ? nullptr : options.snapshot.c_str();
    plain.weights = options.weights.empty() ? nullptr : options.weights.c_str();
    plain.device = options.device.c_str();
    plain.precision = options.precision.empty() ? nullptr : options.precision.c_str();
    cortado_solver* made = nullptr;
    check(cortado_solver_open(file.c_str(), &plain, &made));
    handle_.reset(made);
  }

  void run() { check(cortado_solver_run(handle_.get())); }  ///< trains to the solver's end or until it is stopped
  void step(int64_t iterations) { check(cortado_solver_step(handle_.get(), iterations)); }
  void stop() {
    cortado_solver_stop(handle_.get());
  }  ///< from any thread: run() ends after the current iteration, with a snapshot
  void snapshot() { check(cortado_solver_snapshot(handle_.get())); }

  int64_t iteration() const { return cortado_solver_iteration(handle_.get()); }
  double loss() const { return cortado_solver_loss(handle_.get()); }  ///< of the last iteration
  /// A blob of the training net, valid until the next call.
  ArrayView blob(const std::string& name) {
    cortado_array array{};
    check(cortado_solver_blob(handle_.get(), name.c_str(), &array));
    return ArrayView(array);
  }

 private:
  Handle<cortado_solver, cortado_solver_close> handle_;
};

}  // namespace cortado
