#pragma once

#include <optional>
#include <string>

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

}  // namespace cortado::ranks
