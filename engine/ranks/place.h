#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cortado::ranks {

/// Which of a training's processes this one is.
struct Place {
  int rank = 0, ranks = 1;
  int local_rank = 0, local_ranks = 1;  ///< among those on this machine; as rank and ranks where that is not told
  std::string launcher;                 ///< what started it: "cortado", "mpirun", "mpiexec.hydra", "srun"
  std::string engine;                   ///< what it can most likely speak to the others with: "openmpi"
};

/// What the environment says, if it says that this process is one of several. A Slurm batch script is not one, though
/// its job may have many tasks: `srun` starts those. Throws Error(kUsage) where it says so in a way that makes no
/// sense: processes that took themselves for the only one would write each other's files.
std::optional<Place> place_from_environment();

// What a process that ranks/launch.h starts finds in its environment.

inline constexpr const char* kRankVariable = "CORTADO_RANK";
inline constexpr const char* kRanksVariable = "CORTADO_RANKS";
inline constexpr const char* kEngineVariable = "CORTADO_ENGINE";
inline constexpr const char* kSharedMemoryVariable = "CORTADO_SHARED_MEMORY";  ///< an open descriptor's number
/// A folder that all ranks see, empty at first, where Gloo's find one another; users set it, too, for several machines.
inline constexpr const char* kRendezvousVariable = "CORTADO_RENDEZVOUS";
/// This machine's own address or name, or its network interface, for Gloo; "": the first one that leads to others.
inline constexpr const char* kAddressVariable = "CORTADO_ADDRESS";

/// "rank 2", "ranks 1, 2, 5"; of very many only the first are named.
std::string named(const std::vector<int>& ranks);

}  // namespace cortado::ranks
