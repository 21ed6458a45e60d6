#pragma once

// Trainings on several ranks: who starts them, what this process is among them, how it ends.

#include <functional>

#include "ranks/engine.h"
#include "tools/options/flags.h"

namespace cortado::tools {

std::vector<Flag> engine_flags();  ///< --engine, --stall-limit
std::vector<Flag> rank_flags();    ///< of a training: these, --ranks, --gpu-engine, --scale-lr and --divide-batch

/// Whether --ranks, or a list of devices, asks for processes that nobody has started yet.
bool starts_ranks(const Arguments& arguments);
/// Starts them, with this process's command line, and waits; gives their exit code.
int run_ranks(const Arguments& arguments);

/// What a process is within a training.
struct RankRole {
  ranks::Engine* engine = nullptr;  ///< null: it is alone
  std::string launcher;
  int processes_here = 1;  ///< ranks of this machine, which share its CPUs
  int local_rank = -1;     ///< among them

  bool is_first() const { return !engine || engine->rank() == 0; }
};

/// work(role) and its result, as one of the ranks that the environment tells of, or alone. Of the others than the first
/// only errors are heard. When work fails, the others are told to end, too.
int run_as_rank(const Arguments& arguments, const std::function<int(const RankRole&)>& work);

}  // namespace cortado::tools
