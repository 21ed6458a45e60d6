#pragma once

// The solver and the nets of a run as they are trained: with everything that command lines set. What a resume reads.

#include <string>
#include <vector>

#include "solvers/solver_nets.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {

/// Of snapshots in the run's folder, in place of a solver's.
std::string prefix_in(const RunPaths& paths, const std::string& prefix);

/// Writes solver.prototxt, with the weights that training starts from, and each net that it names beside it:
/// net.prototxt, train_net.prototxt, test_net_0.prototxt.
/// `options`: the overrides of nets. Throws what reading the nets throws, and Error(kIo).
void write_resolved(const RunPaths& paths, const SolverFile& file, const SolverOptions& options);

/// The solver that write_resolved() wrote, with the folder's own files wherever the folder is now. Throws what reading
/// it throws.
SolverFile read_resolved(const RunPaths& paths);

/// The datasets, means and weights that the nets and the solver name.
std::vector<InputFile> inputs_of(const SolverFile& file, const SolverOptions& options);

}  // namespace cortado::runs
