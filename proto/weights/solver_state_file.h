#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/files/file.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Limits on messages and strings in a binary state; a blob of its histories counts as two.
constexpr int64_t kMaxStateParts = 4'000'000, kPartsOfABlob = 2;

/// Reads a .solverstate, Cortado's or Caffe's, binary or HDF5. Cortado's has a digest, which is checked. Throws
/// Error(kSnapshot) if it is truncated, corrupt or of another kind, Error(kIo) if it cannot be read. Memory is limited
/// to a small multiple of the file's size.
caffe::SolverState read_solver_state(const std::string& path);
caffe::SolverState solver_state_from_bytes(std::string_view content, const std::string& path);

/// The run that wrote a state, and the time (TrainingState's run and written), read without the history. For files
/// without them (Caffe's, old or damaged ones) the run is empty and the time that of the last change. Throws nothing.
struct StateStamp {
  std::string run;
  double written = 0;
};
StateStamp read_state_stamp(const std::string& path);

/// The part of the training state that is stored a second time, at the start of the file.
caffe::SolverState stamp_of(const caffe::TrainingState& training);

/// Writes a .solverstate blob by blob, so that the history, as large as the weights, is not duplicated in memory.
/// Atomic: without commit() the path keeps its old content. Throws Error(kSnapshot) beyond protobuf's 2 GiB,
/// Error(kIo).
class SolverStateWriter {
 public:
  /// `head`: everything but the history; if it has `training`, the file gets its own digest. `bytes`: approximate size
  /// of the file, which is reserved first.
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

/// The value for training.self_digest: the digest of a state without that field.
std::string self_digest(const caffe::SolverState& state);

/// The same in steps, from first to last, for callers that do not hold the whole history.
void add_first_fields(const caffe::SolverState& state, Digest& digest);
void add_history_field(const caffe::BlobProto& blob, Digest& digest);
void add_last_fields(const caffe::SolverState& state, Digest& digest);

/// Writes a state in memory, history included, in one call.
void write_solver_state(const std::string& path, const caffe::SolverState& state);

}  // namespace cortado
