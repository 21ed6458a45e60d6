#include "proto/weights/solver_state_file.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "core/error.h"
#include "core/files/file.h"
#include "formats/wire.h"
#include "proto/weights/file_kind.h"
#include "proto/weights/solver_state_hdf5.h"
#include "proto/weights/weights_hdf5.h"

namespace cortado {

namespace {

using google::protobuf::FieldDescriptor;

constexpr int kSolverStateFileDeepest = 16;

constexpr int64_t kPartsOfAnyFile = 200'000, kBytesOfAPart = 6;

/// Generated parsers allocate a hundred bytes for a part of two. Most parts are blobs, each of which has two parts and
/// at least 13 bytes.
int64_t most_parts(std::string_view content) {
  return std::min(kMaxStateParts, kPartsOfAnyFile + int64_t(content.size()) / kBytesOfAPart);
}

/// Counts the messages and strings that a generated parser would allocate.
void check_parts(const WireFile& file, std::string_view message, const google::protobuf::Descriptor* type, int depth,
                 int64_t& parts) {
  if (depth > kSolverStateFileDeepest)
    file.fail("messages are nested deeper than " + std::to_string(kSolverStateFileDeepest));
  WireReader reader(file, message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireField::kBytes) continue;
    if (field.number > uint32_t(FieldDescriptor::kMaxNumber)) file.fail("corrupt: invalid field number");
    const FieldDescriptor* known = type->FindFieldByNumber(int(field.number));
    if (known != nullptr && known->is_packable()) continue;
    if (++parts > most_parts(file.content))
      file.fail("more than " + std::to_string(most_parts(file.content)) + " parts");
    if (known != nullptr && known->message_type())
      check_parts(file, field.bytes, known->message_type(), depth + 1, parts);
  }
}

/// The fields before the history, and those after it.
std::string first_fields(const caffe::SolverState& state) {
  caffe::SolverState first;
  if (state.has_iter()) first.set_iter(state.iter());
  if (state.has_learned_net()) first.set_learned_net(state.learned_net());
  return first.SerializeAsString();
}

std::string last_fields(const caffe::SolverState& state, const std::string& digest = {}) {
  caffe::SolverState last;
  if (state.has_current_step()) last.set_current_step(state.current_step());
  if (state.has_minimum_loss()) last.set_minimum_loss(state.minimum_loss());
  if (state.has_iter_last_event()) last.set_iter_last_event(state.iter_last_event());
  if (state.has_training()) {
    *last.mutable_training() = state.training();
    last.mutable_training()->clear_self_digest();
    if (!digest.empty()) last.mutable_training()->set_self_digest(digest);
  }
  return last.SerializeAsString();
}

}  // namespace

void add_first_fields(const caffe::SolverState& state, Digest& digest) { digest.add(first_fields(state)); }

void add_history_field(const caffe::BlobProto& blob, Digest& digest) {
  const std::string body = blob.SerializeAsString();
  digest.add(field_head(caffe::SolverState::kHistoryFieldNumber, body.size()));
  digest.add(body);
}

void add_last_fields(const caffe::SolverState& state, Digest& digest) { digest.add(last_fields(state)); }

std::string self_digest(const caffe::SolverState& state) {
  Digest digest;
  add_first_fields(state, digest);
  for (const caffe::BlobProto& blob : state.history()) add_history_field(blob, digest);
  add_last_fields(state, digest);
  return digest.str();
}

namespace {

/// Needed in addition to the digest: a flipped bit in a field's tag makes the field unknown, and its content is lost.
void check_digest(const WireFile& file, const caffe::SolverState& state) {
  const char* hint = "try an older snapshot";
  if (!state.GetReflection()->GetUnknownFields(state).empty()) file.fail("corrupt: it has unknown fields", hint);
  if (state.has_training() && state.training().self_digest() != self_digest(state))
    file.fail("corrupt: its content does not match its digest", hint);
  if (state.training().has_run() && !file.content.starts_with(stamp_of(state.training()).SerializeAsString()))
    file.fail("corrupt: its two stamps differ", hint);
}

constexpr std::streamsize kMaxStampLength = 256;

/// The stamp of a binary state, its first field.
caffe::TrainingState binary_stamp(const std::string& path) {
  std::string head(size_t(kMaxStampLength), '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(head.data(), kMaxStampLength);
  head.resize(size_t(stream.gcount()));
  const WireFile file{path, head, ExitCode::kSnapshot};
  WireReader reader(file, head);
  caffe::TrainingState stamp;
  WireField field;
  if (reader.next(field) && field.is(caffe::SolverState::kTrainingFieldNumber, WireField::kBytes) &&
      !stamp.ParseFromArray(field.bytes.data(), int(field.bytes.size())))
    stamp.Clear();
  return stamp;
}

double time_of_change(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return 0;
  return double(info.st_mtim.tv_sec) + double(info.st_mtim.tv_nsec) * 1e-9;
}

}  // namespace

caffe::SolverState stamp_of(const caffe::TrainingState& training) {
  caffe::SolverState stamp;
  caffe::TrainingState& both = *stamp.mutable_training();
  if (training.has_run()) both.set_run(training.run());
  if (training.has_written()) both.set_written(training.written());
  return stamp;
}

StateStamp read_state_stamp(const std::string& path) {
  try {
    const caffe::TrainingState stamp = is_hdf5_file(path) ? read_stamp_hdf5(path) : binary_stamp(path);
    if (stamp.has_run() && stamp.has_written()) return {stamp.run(), stamp.written()};
  } catch (const Error&) {  // reading the whole file will report it
  }
  return {"", time_of_change(path)};
}

caffe::SolverState read_solver_state(const std::string& path) {
  if (is_hdf5_file(path)) return read_solver_state_hdf5(path);
  return solver_state_from_bytes(read_file(path, std::numeric_limits<int32_t>::max()), path);
}

caffe::SolverState solver_state_from_bytes(std::string_view content, const std::string& path) {
  const WireFile file{path, content, ExitCode::kSnapshot};
  const FileKind kind = kind_of_content(content);
  if (kind != FileKind::kSolverState && kind != FileKind::kUnknown)
    file.fail(describe(kind) + ", where " + describe(FileKind::kSolverState) + " is expected", advice_for(kind));
  int64_t parts = 0;
  check_parts(file, content, caffe::SolverState::descriptor(), 0, parts);
  caffe::SolverState state;
  if (!state.ParseFromArray(content.data(), int(content.size()))) file.fail("corrupt: not a solver state");
  check_digest(file, state);
  return state;
}

SolverStateWriter::SolverStateWriter(const std::string& path, caffe::SolverState head, int64_t bytes)
    : path_(path), file_(path, bytes), head_(std::move(head)) {
  // Fields are in the order of their numbers, ours last: a truncated file would pass for one of Caffe's. So a small
  // part of ours comes first; parsers merge the two.
  if (head_.has_training()) file_.append(stamp_of(head_.training()).SerializeAsString());
  append(first_fields(head_));
}

void SolverStateWriter::append(const std::string& piece) {
  bytes_ += int64_t(piece.size());
  if (bytes_ > std::numeric_limits<int32_t>::max() - 4096)
    throw file_error(ExitCode::kSnapshot, path_, "a solver state of more than 2 GiB");
  file_.append(piece);
  digest_.add(piece);
}

void SolverStateWriter::add_history(const caffe::BlobProto& blob) {
  const std::string body = blob.SerializeAsString();
  append(field_head(caffe::SolverState::kHistoryFieldNumber, body.size()));
  append(body);
}

/// The digest is of the message without the digest itself; the reader computes the same.
void SolverStateWriter::commit() {
  digest_.add(last_fields(head_));
  file_.append(last_fields(head_, digest_.str()));
  file_.commit();
}

void write_solver_state(const std::string& path, const caffe::SolverState& state) {
  caffe::SolverState head;
  if (state.has_iter()) head.set_iter(state.iter());
  if (state.has_learned_net()) head.set_learned_net(state.learned_net());
  if (state.has_current_step()) head.set_current_step(state.current_step());
  if (state.has_minimum_loss()) head.set_minimum_loss(state.minimum_loss());
  if (state.has_iter_last_event()) head.set_iter_last_event(state.iter_last_event());
  if (state.has_training()) *head.mutable_training() = state.training();
  SolverStateWriter writer(path, std::move(head), int64_t(state.ByteSizeLong()));
  for (const caffe::BlobProto& blob : state.history()) writer.add_history(blob);
  writer.commit();
}

}  // namespace cortado
