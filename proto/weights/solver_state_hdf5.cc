#include "proto/weights/solver_state_hdf5.h"

#include <charconv>
#include <cstring>
#include <map>
#include <optional>

#include "core/error.h"
#include "proto/weights/file_kind.h"
#include "proto/weights/solver_state_file.h"
#include "proto/weights/weights_file.h"

namespace cortado {

namespace {

constexpr std::string_view kHistory = "history/";
constexpr const char* kStamp = "cortado";  // alphabetically first, because truncation loses the last ones
constexpr size_t kDigestLength = 32;
constexpr const char* kOlderMayBeWhole = "try an older snapshot";

/// Reads a state from datasets in any order.
class StateReader {
 public:
  explicit StateReader(const std::string& path) : reader_({.path = path, .names = {}}) {}

  caffe::SolverState read() {
    for (const TensorEntry& entry : reader_.entries()) take(entry);
    reader_.finish();
    if (!state_.has_iter()) fail_without_iteration();
    int next = 0;
    for (auto& [index, blob] : history_) {
      if (index != next++) reader_.fail("damaged: history " + std::to_string(next - 1) + " is missing");
      to_message(blob, *state_.add_history());
    }
    check_training();
    return std::move(state_);
  }

 private:
  void take(const TensorEntry& entry) {
    const std::string_view name = entry.name;
    int index = 0;
    if (name == "iter" || name == "current_step") return take_number(entry);
    if (name == "learned_net" && entry.type == "STR") return state_.set_learned_net(reader_.read_bytes());
    if (name == "training" && entry.type == "U8") return take_training();
    if (name == kStamp && entry.type == "U8") return void(stamp_ = reader_.read_bytes());
    if (name.starts_with(kHistory) && entry.type != "STR") {
      const auto [end, failure] = std::from_chars(name.data() + kHistory.size(), name.data() + name.size(), index);
      if (failure == std::errc() && end == name.data() + name.size()) return take_history(index, entry.shape);
    }
    if (unknown_.empty()) unknown_ = entry.name;
    data_ = data_ || name.starts_with("data/");
    reader_.skip();
  }

  void check_training() {
    if (!unknown_.empty()) reader_.fail("corrupt: unknown dataset '" + unknown_ + "'", kOlderMayBeWhole);
    if (stamp_ && !state_.has_training()) reader_.fail("corrupt: its 'training' is missing", kOlderMayBeWhole);
    if (!state_.has_training()) return;
    if (state_.training().self_digest() != self_digest(state_))
      reader_.fail("corrupt: its content does not match its digest", kOlderMayBeWhole);
    const std::string wanted = stamp_of(state_.training()).SerializeAsString();
    if (stamp_ ? *stamp_ != wanted : state_.training().has_run())
      reader_.fail("corrupt: its two stamps differ", kOlderMayBeWhole);
  }

  void take_number(const TensorEntry& entry) {
    if (entry.shape.count() != 1 || entry.type != "I32") reader_.fail("'" + entry.name + "' is not one whole number");
    const std::string bytes = reader_.read_bytes();
    int32_t value;
    std::memcpy(&value, bytes.data(), sizeof value);
    entry.name == "iter" ? state_.set_iter(value) : state_.set_current_step(value);
  }

  void take_training() {
    caffe::SolverState rest;
    if (!rest.ParseFromString(reader_.read_bytes())) reader_.fail("corrupt: 'training' cannot be parsed");
    *state_.mutable_training() = rest.training();
    if (rest.has_minimum_loss()) state_.set_minimum_loss(rest.minimum_loss());
    if (rest.has_iter_last_event()) state_.set_iter_last_event(rest.iter_last_event());
  }

  void take_history(int index, const Shape& shape) {
    BlobFile& blob = history_[index];
    blob.shape = shape;
    blob.data.resize(size_t(shape.count()));
    reader_.read(blob.data.data());
  }

  [[noreturn]] void fail_without_iteration() {
    if (data_)
      reader_.fail(describe(FileKind::kWeights) + ", where " + describe(FileKind::kSolverState) + " is expected",
                   advice_for(FileKind::kWeights));
    reader_.fail("an HDF5 file, but not a solver state: 'iter' is missing");
  }

  Hdf5Reader reader_;
  caffe::SolverState state_;
  std::map<int, BlobFile> history_;
  std::optional<std::string> stamp_;
  std::string unknown_;  ///< the first unknown name
  bool data_ = false;
};

/// TrainingState, for which Caffe's files have no dataset, as a message, with room for the digest, which is computed
/// last.
std::string training_bytes(const caffe::SolverState& head, const std::string& digest) {
  caffe::SolverState rest;
  if (head.has_minimum_loss()) rest.set_minimum_loss(head.minimum_loss());
  if (head.has_iter_last_event()) rest.set_iter_last_event(head.iter_last_event());
  *rest.mutable_training() = head.training();
  rest.mutable_training()->set_self_digest(digest);
  return rest.SerializeAsString();
}

std::vector<TensorEntry> entries_of(const caffe::SolverState& head, const std::vector<Shape>& history) {
  std::vector<TensorEntry> entries = {{"iter", "I32", Shape{1}},
                                      {"learned_net", "STR", Shape{int64_t(head.learned_net().size())}},
                                      {"current_step", "I32", Shape{1}}};
  for (size_t i = 0; i < history.size(); ++i)
    entries.push_back({std::string(kHistory) + std::to_string(i), "F32", history[i]});
  if (head.has_training()) {
    const std::string bytes = training_bytes(head, std::string(kDigestLength, '0'));
    entries.push_back({"training", "U8", Shape{int64_t(bytes.size())}});
    entries.push_back({kStamp, "U8", Shape{int64_t(stamp_of(head.training()).ByteSizeLong())}});
  }
  return entries;
}

}  // namespace

caffe::SolverState read_solver_state_hdf5(const std::string& path) { return StateReader(path).read(); }

caffe::TrainingState read_stamp_hdf5(const std::string& path) {
  Hdf5Reader reader({.path = path, .names = {kStamp}});
  caffe::SolverState stamp;
  if (!stamp.ParseFromString(reader.read_bytes())) reader.fail("corrupt: its stamp cannot be parsed");
  reader.finish();
  return stamp.training();
}

SolverStateHdf5Writer::SolverStateHdf5Writer(const std::string& path, caffe::SolverState head,
                                             const std::vector<Shape>& history)
    : head_(std::move(head)), writer_(path, entries_of(head_, history)) {
  head_.set_iter(head_.iter());  // always present in the file, so the digest must include it, even if 0
  head_.set_current_step(head_.current_step());
  head_.set_learned_net(head_.learned_net());
  const int32_t iter = head_.iter(), step = head_.current_step();
  writer_.add(&iter, sizeof iter);
  writer_.add(head_.learned_net().data(), head_.learned_net().size());
  writer_.add(&step, sizeof step);
  add_first_fields(head_, digest_);
}

void SolverStateHdf5Writer::add_history(const caffe::BlobProto& blob) {
  writer_.add(blob.data().data(), size_t(blob.data_size()) * sizeof(float));
  add_history_field(blob, digest_);
}

void SolverStateHdf5Writer::commit() {
  if (head_.has_training()) {
    add_last_fields(head_, digest_);
    const std::string bytes = training_bytes(head_, digest_.str());
    writer_.add(bytes.data(), bytes.size());
    const std::string stamp = stamp_of(head_.training()).SerializeAsString();
    writer_.add(stamp.data(), stamp.size());
  }
  writer_.commit();
}

}  // namespace cortado
