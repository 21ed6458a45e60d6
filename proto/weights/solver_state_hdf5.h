#pragma once

// A solver's state in HDF5, in BVLC Caffe's layout: /iter, /learned_net, /current_step, /history/I. The TrainingState,
// which an exact resume needs too, is in the bytes /training, which Caffe ignores. A flipped bit in that name would
// make the file pass for one of Caffe's. So the bytes /cortado (the stamp of stamp_of()) imply that it must be present,
// and unknown names are errors.

#include <string>
#include <vector>

#include "core/files/file.h"
#include "formats/hdf5_file.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Like read_solver_state().
caffe::SolverState read_solver_state_hdf5(const std::string& path);

/// The stamp of stamp_of(). Throws if the file has none.
caffe::TrainingState read_stamp_hdf5(const std::string& path);

/// Like SolverStateWriter; the shapes of the history must be known before the first blob.
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
