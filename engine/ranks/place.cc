#include "ranks/place.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "core/error.h"

namespace cortado::ranks {

namespace {

/// The environment variables in which a launcher passes ranks; null: not passed.
struct Names {
  const char *launcher, *engine;
  const char *rank, *ranks, *local_rank, *local_ranks;
};

// Open MPI's mpirun also sets the variables of PMIx, and Slurm sets its own in addition to those of PMI and PMIx.
// Slurm's number of tasks is that of the step: a batch script has that of the job too. PMIx does not pass the number of
// ranks.
constexpr Names kOwn = {"cortado", "shm", kRankVariable, kRanksVariable, nullptr, nullptr};
constexpr Names kLaunchers[] = {
    {"mpirun", "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpiexec.hydra", "mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"srun", "openmpi", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
    {"srun", "gloo", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
};

/// The number in a variable; none if it is not set. Of Slurm's list for all nodes, "4(x2),3", the first.
std::optional<int> number_in(const char* variable) {
  const char* text = variable ? std::getenv(variable) : nullptr;
  if (!text) return std::nullopt;
  int value = -1;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || (rest != end && *rest != '(' && *rest != ',') || value < 0)
    throw Error(ExitCode::kUsage, std::string(variable) + "='" + text + "' is not a number of processes",
                "correct it in the launcher, or unset it to train alone");
  return value;
}

void check(int rank, int ranks, const char* rank_variable, const char* ranks_variable) {
  if (rank < ranks) return;
  throw Error(ExitCode::kUsage, std::string(rank_variable) + "=" + std::to_string(rank) + " is not below " +
                                    ranks_variable + "=" + std::to_string(ranks));
}

std::optional<Place> place_by(const Names& names) {
  const std::optional<int> rank = number_in(names.rank);
  if (!rank) return std::nullopt;
  const std::optional<int> ranks = number_in(names.ranks);
  if (!ranks) return std::nullopt;
  check(*rank, *ranks, names.rank, names.ranks);
  Place place{*rank, *ranks, *rank, *ranks, names.launcher, names.engine};
  if (const std::optional<int> local = number_in(names.local_rank)) place.local_rank = *local;
  place.local_ranks = std::max(number_in(names.local_ranks).value_or(*ranks), place.local_rank + 1);
  return place;
}

}  // namespace

std::optional<Place> place_from_environment() {
  if (std::optional<Place> place = place_by(kOwn)) {
    if (const char* engine = std::getenv(kEngineVariable)) place->engine = engine;
    return place;
  }
  for (const Names& names : kLaunchers)
    if (const std::optional<Place> place = place_by(names)) {
      if (place->ranks > 1) return place;
      return std::nullopt;
    }
  if (std::getenv("PMIX_RANK"))
    throw Error(ExitCode::kUsage, "PMIX_RANK is set, but the number of processes is unknown",
                "start with mpirun or srun, or unset PMIX_RANK to train alone");
  return std::nullopt;
}

std::string named(const std::vector<int>& ranks) {
  constexpr size_t kMost = 8;
  if (ranks.empty()) return "no rank";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < kMost; ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > kMost) text += " and " + std::to_string(ranks.size() - kMost) + " more";
  return text;
}

}  // namespace cortado::ranks
