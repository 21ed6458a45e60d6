#include "tools/rank_options.h"

#include <chrono>
#include <thread>

#include "core/log.h"
#include "ranks/launch.h"
#include "ranks/open_engine.h"
#include "ranks/place.h"
#include "tools/failure.h"
#include "tools/own_command.h"
#include "tools/run_options.h"
#include "tools/signals.h"
#include "tools/terminal.h"

namespace cortado::tools {

namespace {

constexpr std::chrono::seconds kForTheFirstToSay(1);  ///< what all know

/// One for each of several devices, unless --ranks says otherwise.
int ranks_wanted(const Arguments& arguments) {
  const int said = int(arguments.integer("ranks")), devices = devices_listed(arguments);
  if (devices <= 1) return said;
  if (arguments.has("ranks") && said != devices)
    throw usage_error("--ranks=" + std::to_string(said) + ", but " + std::to_string(devices) + " devices",
                      "a device for each rank, or one that all share");
  return devices;
}

/// Whether the first rank says the same.
bool is_said_by_all(ExitCode code) {
  return code == ExitCode::kDiverged || code == ExitCode::kUsage || code == ExitCode::kNet;
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
  const std::unique_ptr<ranks::Engine> engine =
      ranks::open_engine(*place, {.name = arguments.text("engine"), .stall_seconds = arguments.number("stall-limit")});
  const bool is_first = engine->rank() == 0;
  if (!is_first) set_log_level(Severity::kError);
  try {
    const int code = work({engine.get(), place->launcher, place->local_ranks, place->local_rank});
    engine->leave(0);
    return code;
  } catch (...) {
    // Said before the others are told: MPI ends the process with that, and its launcher all of them.
    const Failure failure = current_failure();
    if (is_first || !is_said_by_all(ExitCode(failure.code)))
      show_error(failure.text);
    else
      std::this_thread::sleep_for(kForTheFirstToSay);
    engine->leave(failure.code);
    return failure.code;
  }
}

}  // namespace cortado::tools
