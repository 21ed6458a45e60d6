#include "bindings/python/training.h"

#include "core/device.h"
#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/threads/threads.h"

namespace py = pybind11;

namespace cortado::pymodule {

Training::Training(SolverFile file, const SolverOptions& options, int threads, const std::string& device)
    : context_({.threads = threads > 0 ? threads : default_threads(),
                .device = device_named(device),
                .precision = precision_named(file.solver.precision())}) {
  solver_.reset(new Solver(make_solver(std::move(file), options, context_)));  // not movable
  solver_->add_observer(this);
}

/// Releases the GIL. An exception from Ctrl-C is raised after the current iteration.
template <typename Work>
void Training::work(const Work& what) {
  enter(context_);
  {
    const py::gil_scoped_release elsewhere;
    what();
  }
  for (auto& [net, observed] : observed_) observed->ran();
  if (!interrupted_) return;
  interrupted_ = false;
  requests_.fetch_and(~kRequestStop);
  throw py::error_already_set();
}

bool Training::step(int64_t iterations) {
  if (iterations < 0) throw Error(ExitCode::kUsage, "iterations must not be negative");
  bool whole = true;
  work([&] { whole = solver().step(iterations, requests_); });
  return whole;
}

void Training::run() {
  work([&] { solver().run(requests_); });
}

void Training::apply_update() {
  observed(0);
  work([&] { solver().apply_update(); });
}

void Training::snapshot() {
  work([&] { solver().snapshot(); });
}

void Training::close() {
  observed_.clear();
  solver_.reset();
}

Solver& Training::solver() {
  if (!solver_) throw Error(ExitCode::kUsage, "the training is closed");
  return *solver_;
}

Net& Training::net(size_t index) {
  enter(context_);
  if (index == 0) return solver().net();
  std::vector<Tester>& testers = solver().testers();
  if (index > testers.size())
    throw Error(ExitCode::kUsage, "the solver has " + std::to_string(testers.size()) + " test nets, so index " +
                                      std::to_string(index) + " is out of range");
  return testers[index - 1].net();
}

ObservedNet& Training::observed(size_t index) {
  Net& net = this->net(index);
  if (!net.plan().graph.options.observed)
    throw Error(ExitCode::kUsage, "blobs and gradients of this solver's nets are not accessible",
                "use Solver(..., observe=True)");
  std::unique_ptr<ObservedNet>& made = observed_[&net];
  if (!made) made = std::make_unique<ObservedNet>(net);
  return *made;
}

void Training::on_iteration(const Progress&) {
  const py::gil_scoped_acquire here;
  if (interrupted_ || PyErr_CheckSignals() == 0) return;
  interrupted_ = true;
  requests_.fetch_or(kRequestStop);
}

void Training::on_gradients(const Progress&) {
  const py::gil_scoped_acquire here;
  if (!on_gradients_ || on_gradients_.is_none()) return;
  for (auto& [net, observed] : observed_) observed->ran();
  on_gradients_();
}

}  // namespace cortado::pymodule
