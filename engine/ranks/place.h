#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cortado::ranks {

/// Which process of a training this one is.
struct Place {
  int rank = 0, ranks = 1;
  int local_rank = 0, local_ranks = 1;  ///< among those on this machine; equal to rank and ranks if unknown
  std::string launcher;                 ///< what started it: "cortado", "mpirun", "mpiexec.hydra", "srun"
  std::string engine;                   ///< the default engine for the launcher: "openmpi"
};

/// The place according to the environment, if this process is one of several. A Slurm batch script is not one, even if
/// its job has many tasks: `srun` starts those. Throws Error(kUsage) for inconsistent variables: processes that each
/// took themselves for the only one would overwrite each other's files.
std::optional<Place> place_from_environment();

// Environment variables that ranks/launch.h sets for its processes.

inline constexpr const char* kRankVariable = "CORTADO_RANK";
inline constexpr const char* kRanksVariable = "CORTADO_RANKS";
inline constexpr const char* kEngineVariable = "CORTADO_ENGINE";
inline constexpr const char* kSharedMemoryVariable = "CORTADO_SHARED_MEMORY";  ///< number of an open descriptor
/// A folder that all ranks can access, initially empty, for Gloo's rendezvous; set by users for several machines.
inline constexpr const char* kRendezvousVariable = "CORTADO_RENDEZVOUS";
/// This machine's address, name, or network interface for Gloo; "": the first interface that is not the loopback.
inline constexpr const char* kAddressVariable = "CORTADO_ADDRESS";

/// "rank 2", "ranks 1, 2, 5"; only the first few of many.
std::string named(const std::vector<int>& ranks);

}  // namespace cortado::ranks
