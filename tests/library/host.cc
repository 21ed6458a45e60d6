// A program that uses glog, a SIGBUS handler and its own log level, which the library must not change: host SOLVER
// first|later trains an iteration. glog is initialized first, or after the library was used.
#include <cortado.h>
#include <glog/logging.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void on_bus_error(int) {}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, cortado_last_error());
  std::exit(1);
}

void train(const char* path) {
  cortado_solver* solver = nullptr;
  require(cortado_solver_open(path, nullptr, &solver) == CORTADO_OK, "open");
  require(cortado_solver_step(solver, 1) == CORTADO_OK, "step");
  cortado_solver_close(solver);
}

}  // namespace

int main(int, char** words) {
  signal(SIGBUS, on_bus_error);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = 0;
  const bool later = std::strcmp(words[2], "later") == 0;
  if (!later) google::InitGoogleLogging("host");
  cortado_set_log_level(0);
  train(words[1]);
  if (later) google::InitGoogleLogging("host");
  train(words[1]);
  cortado_set_log_level(2);
  require(FLAGS_minloglevel == 0 && FLAGS_logtostderr && FLAGS_log_year_in_prefix, "glog's flags");
  struct sigaction action;
  sigaction(SIGBUS, nullptr, &action);
  require(action.sa_handler == on_bus_error, "SIGBUS");
  LOG(INFO) << "the host goes on";
}
