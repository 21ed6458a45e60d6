#pragma once

// Training on several ranks: starting the processes, the role of this one, and its end.

#include <functional>

#include "ranks/engine.h"
#include "tools/options/flags.h"

namespace cortado::tools {

Flag ranks_flag();
std::vector<Flag> engine_flags();  ///< --engine, --stall-limit
std::vector<Flag> rank_flags();    ///< of a training: also --ranks, --gpu-engine, --scale-lr and --divide-batch

/// Whether --ranks or a list of devices requests processes that do not run yet.
bool starts_ranks(const Arguments& arguments);
/// Starts them with this process's command line and waits. Returns their exit code.
int run_ranks(const Arguments& arguments);

/// The role of a process in a training.
struct RankRole {
  ranks::Engine* engine = nullptr;  ///< null: the only process
  std::string launcher;
  int processes_here = 1;  ///< ranks on this machine, which share its CPUs
  int local_rank = -1;     ///< of this process

  bool is_first() const { return !engine || engine->rank() == 0; }
};

/// Runs work(role) as the rank that the environment describes, or alone, and returns its result. Ranks other than the
/// first log errors only. If work fails, the other ranks end, too.
int run_as_rank(const Arguments& arguments, const std::function<int(const RankRole&)>& work);

}  // namespace cortado::tools
