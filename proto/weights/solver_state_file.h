#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/files/file.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Messages and texts that a binary state may have, of which a blob of its histories is two.
constexpr int64_t kMaxStateParts = 4'000'000, kPartsOfABlob = 2;

/// Reads a .solverstate, ours or Caffe's, binary or HDF5. A state of ours carries its own digest, which is checked.
/// Throws Error(kSnapshot) where it is truncated, corrupt or a file of another kind, Error(kIo) where it cannot be
/// read. Memory stays within a small multiple of the file's size.
caffe::SolverState read_solver_state(const std::string& path);
caffe::SolverState solver_state_from_bytes(std::string_view content, const std::string& path);

/// Which run wrote a state, and when (TrainingState's run and written), read without the history. A file that does not
/// say, Caffe's, an older one or a damaged one, has no run and the time at which it was last changed. Throws nothing.
struct StateStamp {
  std::string run;
  double written = 0;
};
StateStamp read_state_stamp(const std::string& path);

/// The stamp alone, as states of ours have it once more where a reader finds it first.
caffe::SolverState stamp_of(const caffe::TrainingState& training);

/// Writes a .solverstate blob by blob, so that the history, as large as the weights, does not lie in memory once more.
/// Atomic: without commit() the path keeps its old content. Throws Error(kSnapshot) past protobuf's 2 GiB, Error(kIo).
class SolverStateWriter {
 public:
  /// `head`: all but the history; where it has `training`, the file gets its own digest. `bytes`: about how large the
  /// file will be; the space is reserved first.
  SolverStateWriter(const std::string& path, caffe::SolverState head, int64_t bytes);
  void add_history(const caffe::BlobProto& blob);
  void commit();

 private:
  void append(const std::string& piece);

  std::string path_;
  AtomicFile file_;
  caffe::SolverState head_;
  Digest digest_;
  int64_t bytes_ = 0;
};

/// The digest of a state without the digest itself: what its training.self_digest is to be.
std::string self_digest(const caffe::SolverState& state);

/// The same in pieces, first to last, for those that do not have all of the history at once.
void add_first_fields(const caffe::SolverState& state, Digest& digest);
void add_history_field(const caffe::BlobProto& blob, Digest& digest);
void add_last_fields(const caffe::SolverState& state, Digest& digest);

/// A state in memory, history included, written in one call.
void write_solver_state(const std::string& path, const caffe::SolverState& state);

}  // namespace cortado
