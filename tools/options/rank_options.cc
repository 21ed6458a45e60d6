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

// An MPI launcher drops what it has not printed yet when a rank aborts. The first rank waits until its error is
// printed; the others, which have found the same error, wait for the first. Our own launcher loses nothing.
constexpr std::chrono::milliseconds kToPrint(300), kForTheFirst(1000), kForTheFirstOfMpi(5000);

/// One for each of several devices, unless --ranks says otherwise.
int ranks_wanted(const Arguments& arguments) {
  const int said = int(arguments.integer("ranks")), devices = devices_listed(arguments);
  if (devices <= 1) return said;
  if (arguments.has("ranks") && said != devices)
    throw usage_error("--ranks=" + std::to_string(said) + ", but " + std::to_string(devices) + " devices",
                      "a device for each rank, or one that all share");
  return devices;
}

/// Whether every rank finds this error by itself, in the same place.
bool is_found_by_all(ExitCode code) {
  return code == ExitCode::kDiverged || code == ExitCode::kUsage || code == ExitCode::kNet;
}

/// Ends all ranks after an error that all have found between two exchanges: none is aborted, so the launcher prints
/// everything. False where that fails.
bool leave_together(ranks::Engine& engine) {
  try {
    engine.leave(0);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Reports an error, and makes the other ranks end. Returns the exit code.
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

std::vector<Flag> engine_flags() {
  return {{.name = "engine",
           .kind = FlagKind::kText,
           .value = "NAME",
           .help = "what moves gradients between processes; unless given, shm for those of --ranks, else the MPI that "
                   "started them",
           .choices = {"shm", "gloo", "openmpi", "mpich"}},
          {.name = "stall-limit",
           .kind = FlagKind::kNumber,
           .value = "SECONDS",
           .help = "a process that hears nothing from another one for so long gives up",
           .fallback = "300"}};
}

std::vector<Flag> rank_flags() {
  return joined(
      {{{.name = "ranks",
         .kind = FlagKind::kInteger,
         .value = "N",
         .help = "trains by so many processes on this machine, each with --threads threads; mpirun and srun start them "
                 "on several; --gpu=0,1 is one for each GPU",
         .fallback = "1",
         .least = 1,
         .most = 1024},
        {.name = "scale-lr",
         .kind = FlagKind::kText,
         .value = "HOW",
         .help = "base_lr times the number of shards of an iteration, or its square root, as its batch grows",
         .fallback = "none",
         .choices = {"none", "linear", "sqrt"}},
        {.name = "gpu-engine",
         .kind = FlagKind::kText,
         .value = "NAME",
         .help = "what moves gradients between the GPUs of several processes; unless given, nccl where it is there",
         .choices = {"nccl", "host"}},
        {.name = "divide-batch",
         .help = "batch_size is that of an iteration, which its shards share; else it is each shard's"}},
       engine_flags()});
}

bool starts_ranks(const Arguments& arguments) {
  const std::optional<ranks::Place> place = ranks::place_from_environment();
  if (arguments.integer("ranks") > 1 && place && place->launcher != "cortado")
    throw usage_error("--ranks within what " + place->launcher + " started",
                      "it has started " + std::to_string(place->ranks) + " processes: leave --ranks out");
  return !place && ranks_wanted(arguments) > 1;
}

int run_ranks(const Arguments& arguments) {
  return ranks::launch_local(ranks_wanted(arguments), arguments.text("engine"), own_command());
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
