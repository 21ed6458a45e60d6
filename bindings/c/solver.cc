// Trainings of the C interface.

#include "solvers/solver.h"

#include "bindings/c/status.h"
#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/threads/threads.h"
#include "solvers/config.h"

using namespace cortado;
using namespace cortado::library;

struct cortado_solver {
  explicit cortado_solver(const ContextOptions& options) : context(options) {}

  Context context;
  std::unique_ptr<Solver> solver;
  Requests requests{kRequestNothing};
  std::vector<int64_t> blob_shape;
  std::vector<float> blob;
};

namespace {

ContextOptions context_options(const caffe::SolverParameter& solver, const cortado_solver_options& options) {
  return {.threads = options.threads > 0 ? options.threads : default_threads(),
          .device = device_of(options.device),
          .precision = precision_named(options.precision ? options.precision : solver.precision())};
}

}  // namespace

extern "C" {

cortado_status cortado_solver_open(const char* solver, const cortado_solver_options* options,
                                   cortado_solver** training) {
  return guarded([&] {
    const auto chosen = options_from<cortado_solver_options>(options, CORTADO_SOLVER_OPTIONS);
    if (chosen.threads < 0) throw Error(ExitCode::kUsage, "threads must not be negative");
    SolverFile file = read_solver(required(solver, "solver"));
    SolverOptions more;
    if (chosen.snapshot) more.snapshot = chosen.snapshot;
    more.weights = listed(chosen.weights);
    more.shares_prefix = true;
    auto made = std::make_unique<cortado_solver>(context_options(file.solver, chosen));
    made->solver.reset(new Solver(make_solver(std::move(file), more, made->context)));  // not movable
    *training = made.release();
  });
}

void cortado_solver_close(cortado_solver* training) { delete training; }

cortado_status cortado_solver_run(cortado_solver* training) {
  return guarded([&] {
    enter(training->context);  // each call may come from another thread
    training->solver->run(training->requests);
  });
}

cortado_status cortado_solver_step(cortado_solver* training, int64_t iterations) {
  return guarded([&] {
    if (iterations < 0) throw Error(ExitCode::kUsage, "iterations must not be negative");
    enter(training->context);  // each call may come from another thread
    training->solver->step(iterations);
  });
}

void cortado_solver_stop(cortado_solver* training) { training->requests.fetch_or(kRequestStop); }

cortado_status cortado_solver_snapshot(cortado_solver* training) {
  return guarded([&] {
    enter(training->context);  // each call may come from another thread
    training->solver->snapshot();
  });
}

int64_t cortado_solver_iteration(const cortado_solver* training) { return training->solver->iter(); }

double cortado_solver_loss(const cortado_solver* training) { return training->solver->loss(); }

cortado_status cortado_solver_blob(cortado_solver* training, const char* name, cortado_array* array) {
  return guarded([&] {
    enter(training->context);  // each call may come from another thread
    Net& net = training->solver->net();
    training->blob_shape = net.blob_shape(required(name, "name")).dims();
    training->blob = net.read_blob(name);
    *array = {training->blob.data(), training->blob_shape.data(), training->blob_shape.size()};
  });
}

}  // extern "C"
