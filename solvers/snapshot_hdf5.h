#pragma once

// Snapshots as HDF5 files (snapshot_format: HDF5): PREFIX_iter_N.caffemodel.h5 and PREFIX_iter_N.solverstate.h5, laid
// out as BVLC Caffe's.

#include <string>

#include "net/net.h"
#include "solvers/weight_update.h"

namespace cortado {

/// Throws Error(kSnapshot) where layers' names do not fit into one HDF5 file, before hours went into the training.
void check_hdf5_snapshot(const std::string& path, const Net& net);

/// Writes the weights, a layer at a time; the digest of the file's bytes. Throws like write_snapshot().
std::string write_net_hdf5(const std::string& path, Net& net, bool with_diffs);

/// Writes the state with the history of `update`.
void write_state_hdf5(const std::string& path, const WeightUpdate& update, caffe::SolverState head);

}  // namespace cortado
