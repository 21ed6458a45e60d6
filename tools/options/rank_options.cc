#include "tools/options/rank_options.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/log.h"
#include "ranks/launch.h"
#include "ranks/open_engine.h"
#include "ranks/place.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"
#include "tools/program/companion.h"
#include "tools/program/failure.h"
#include "tools/program/signals.h"

namespace cortado::tools {

namespace {

// An MPI launcher drops unprinted output when a rank aborts, so the first rank waits until its error is printed. The
// other ranks have the same error and wait for the first. The launcher of `cortado --ranks` loses no output.
constexpr std::chrono::milliseconds kToPrint(300), kForTheFirst(1000), kForTheFirstOfMpi(5000);

/// One rank for each of several devices, unless --ranks is given.
int rank_count(const Arguments& arguments) {
  const int said = int(arguments.integer("ranks")), devices = devices_listed(arguments);
  if (devices <= 1) return said;
  if (arguments.has("ranks") && said != devices)
    throw usage_error("--ranks=" + std::to_string(said) + " with " + std::to_string(devices) + " devices",
                      "list one device for each rank, or one that all ranks share");
  return devices;
}

/// Whether every rank finds this error independently.
bool is_found_by_all(ExitCode code) {
  return code == ExitCode::kDiverged || code == ExitCode::kUsage || code == ExitCode::kNet;
}

/// Ends all ranks after an error that all have between two exchanges. No rank is aborted, so the launcher prints
/// everything. Returns false on failure.
bool leave_together(ranks::Engine& engine) {
  try {
    engine.leave(0);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Reports an error and ends the other ranks. Returns the exit code.
int fail(ranks::Engine& engine, bool by_mpi, const Failure& failure) {
  const bool reports = engine.rank() == 0 || !is_found_by_all(ExitCode(failure.code));
  if (reports) show_error(failure.text);
  if (ExitCode(failure.code) == ExitCode::kDiverged && leave_together(engine)) return failure.code;
  if (!reports)
    std::this_thread::sleep_for(by_mpi ? kForTheFirstOfMpi : kForTheFirst);
  else if (by_mpi)
    std::this_thread::sleep_for(kToPrint);
  engine.leave(failure.code);
  return failure.code;
}

}  // namespace

Flag ranks_flag() {
  return {.name = "ranks",
          .kind = FlagKind::kInteger,
          .value = "N",
          .help = "number of processes on this machine, each with --threads threads",
          .least = 1,
          .most = 1 << 20};
}

std::vector<Flag> engine_flags() {
  return in_group("Rank", advanced({{.name = "engine",
                                     .kind = FlagKind::kText,
                                     .value = "NAME",
                                     .help = "library for the exchange between processes; by default shm with --ranks, "
                                             "else the MPI that started them",
                                     .choices = {"shm", "gloo", "openmpi", "mpich"}},
                                    {.name = "stall-limit",
                                     .kind = FlagKind::kNumber,
                                     .value = "SECONDS",
                                     .help = "give up after waiting this long for another process",
                                     .fallback = "300"}}));
}

std::vector<Flag> rank_flags() {
  Flag ranks = with_note(ranks_flag(), "mpirun and srun start them on several machines; --gpu=0,1 is one for each GPU");
  ranks.fallback = "1";
  ranks.most = 1024;
  return joined(
      {in_group("Rank",
                advanced({ranks,
                          {.name = "scale-lr",
                           .kind = FlagKind::kText,
                           .value = "HOW",
                           .help = "multiply base_lr by the number of shards of an iteration, or its square root",
                           .fallback = "none",
                           .choices = {"none", "linear", "sqrt"}},
                          {.name = "divide-batch",
                           .help = "divide batch_size among the shards, in place of a whole batch for each"},
                          {.name = "gpu-engine",
                           .kind = FlagKind::kText,
                           .value = "NAME",
                           .help = "library for the exchange between GPUs; by default nccl where available",
                           .choices = {"nccl", "host"}}})),
       engine_flags()});
}

bool starts_ranks(const Arguments& arguments) {
  const std::optional<ranks::Place> place = ranks::place_from_environment();
  if (arguments.integer("ranks") > 1 && place && place->launcher != "cortado")
    throw usage_error("--ranks in a process that " + place->launcher + " has started",
                      "leave out --ranks: there are " + std::to_string(place->ranks) + " processes already");
  return !place && rank_count(arguments) > 1;
}

int run_ranks(const Arguments& arguments) {
  return ranks::launch_local(rank_count(arguments), arguments.text("engine"), own_command());
}

int run_as_rank(const Arguments& arguments, const std::function<int(const RankRole&)>& work) {
  const std::optional<ranks::Place> place = ranks::place_from_environment();
  if (!place) return work({});
  const std::unique_ptr<ranks::Engine> engine = ranks::open_engine(
      *place,
      {.name = arguments.text("engine"), .stall_seconds = arguments.number("stall-limit"), .end_process = ::_exit});
  if (engine->rank() != 0) set_log_level(Severity::kError);
  try {
    const int code = work({engine.get(), place->launcher, place->local_ranks, place->local_rank});
    engine->leave(0);
    return code;
  } catch (...) {
    return fail(*engine, place->launcher != "cortado", current_failure());
  }
}

}  // namespace cortado::tools
