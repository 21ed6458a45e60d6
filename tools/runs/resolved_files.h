#pragma once

// The solver and nets of a run as trained, with all changes of the command line. A resume reads these files.

#include <string>
#include <vector>

#include "solvers/solver_nets.h"
#include "tools/runs/run_folder.h"
#include "tools/runs/run_record.h"

namespace cortado::runs {

/// The snapshot prefix in the run's folder that replaces the solver's prefix.
std::string prefix_in(const RunPaths& paths, const std::string& prefix);

/// Writes solver.prototxt, with the weights that training starts from, and next to it each net that it names:
/// net.prototxt, train_net.prototxt, test_net_0.prototxt. `options`: the overrides of nets. Throws as reading the nets
/// does, and Error(kIo).
void write_resolved(const RunPaths& paths, const SolverFile& file, const SolverOptions& options);

/// The solver of write_resolved(). Paths of the run's files are adjusted if the folder has moved. Throws as reading it
/// does.
SolverFile read_resolved(const RunPaths& paths);

/// A net of a run's solver: its field ("net", "test_net[0]", "net_param") and its layers.
struct ResolvedNet {
  std::string field;
  caffe::NetParameter net;
};
/// The nets of read_resolved(), without those in files that are links. Throws as reading them does.
std::vector<ResolvedNet> resolved_nets(const RunPaths& paths);

/// The datasets, means and weights that the nets and the solver name.
std::vector<InputFile> inputs_of(const SolverFile& file, const SolverOptions& options);

}  // namespace cortado::runs
