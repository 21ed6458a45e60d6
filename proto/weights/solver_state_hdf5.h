#pragma once

// A solver's state in HDF5, as BVLC Caffe lays it out: /iter, /learned_net, /current_step, /history/I. What an exact
// resume needs besides, the TrainingState, is the bytes /training, which Caffe passes over. A changed bit in that name
// would make the file pass for one of Caffe's, so the bytes /cortado (the stamp of stamp_of()) say that it must be
// there, and names that no solver state has are refused.

#include <string>
#include <vector>

#include "core/files/file.h"
#include "formats/hdf5_file.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Like read_solver_state().
caffe::SolverState read_solver_state_hdf5(const std::string& path);

/// The stamp of stamp_of(). Throws where the file has none.
caffe::TrainingState read_stamp_hdf5(const std::string& path);

/// Like SolverStateWriter; the history's shapes are known before the first blob.
class SolverStateHdf5Writer {
 public:
  SolverStateHdf5Writer(const std::string& path, caffe::SolverState head, const std::vector<Shape>& history);
  void add_history(const caffe::BlobProto& blob);
  void commit();

 private:
  caffe::SolverState head_;
  Digest digest_;
  Hdf5Writer writer_;
};

}  // namespace cortado
