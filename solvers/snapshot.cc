#include "solvers/snapshot.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/error.h"
#include "core/file.h"
#include "core/log.h"

namespace cortado {

namespace {

constexpr size_t kMostBytes = size_t(1) << 31;  // of a protobuf message

std::string serialized(const google::protobuf::Message& message, const std::string& path) {
  if (message.ByteSizeLong() >= kMostBytes)
    throw Error(ExitCode::kSnapshot, path + " would pass 2 GiB, the most that its format can hold");
  std::string content;
  if (!message.SerializeToString(&content)) throw_internal("a snapshot cannot be serialized");
  return content;
}

/// Of the state without its own digest, which is cleared.
std::string self_digest(caffe::SolverState& state) {
  state.mutable_training()->clear_self_digest();
  return digest_of(state.SerializeAsString());
}

bool parse(const std::string& content, google::protobuf::Message& message) {
  return content.size() < kMostBytes && message.ParseFromArray(content.data(), int(content.size()));
}

[[noreturn]] void throw_damaged(const std::string& path, const std::string& how) {
  throw Error(ExitCode::kSnapshot, path + " is damaged: " + how,
              "--snapshot=auto takes the newest snapshot that is whole");
}

bool holds_weights(const std::string& content) {
  caffe::NetParameter net;
  return parse(content, net) && net.layer_size() + net.layers_size() > 0;
}

caffe::SolverState read_state(const std::string& path) {
  const std::string content = read_file(path);
  if (content.starts_with("\x89HDF\r\n"))
    throw Error(ExitCode::kSnapshot, path + " is an HDF5 file; snapshots are read as binary messages only");
  caffe::SolverState state;
  const bool parsed = parse(content, state);
  if (parsed && state.has_training()) {
    const std::string stored = state.training().self_digest();
    if (stored != self_digest(state)) throw_damaged(path, "its content is not what was written");
    return state;
  }
  if (holds_weights(content))
    throw Error(ExitCode::kUsage, path + " holds weights, not a snapshot",
                "give it to --weights, or give the .solverstate beside it to --snapshot");
  if (!parsed || content.empty() || state.GetReflection()->GetUnknownFields(state).field_count() > 0)
    throw_damaged(path, content.empty() ? "it is empty" : "it is not a solver's state");
  return state;
}

/// Snapshots move as pairs, so what lies beside the state comes before the path that it was written with.
std::string find_weights(const std::string& state_path, const std::string& learned_net) {
  if (learned_net.empty()) throw_damaged(state_path, "it does not name its weights");
  const std::string beside = join_path(folder_of(state_path), file_name_of(learned_net));
  if (file_exists(beside)) return beside;
  if (file_exists(learned_net)) return learned_net;
  throw Error(ExitCode::kSnapshot, "the weights of " + state_path + " are missing: there is no " + beside);
}

/// The iteration in "BEGIN123.solverstate", or -1.
int64_t iteration_in(const std::string& name, const std::string& begin) {
  constexpr std::string_view kEnd = ".solverstate";
  if (!name.starts_with(begin) || !name.ends_with(kEnd) || name.size() <= begin.size() + kEnd.size()) return -1;
  int64_t iter = -1;
  const char *first = name.data() + begin.size(), *last = name.data() + name.size() - kEnd.size();
  const auto [end, failure] = std::from_chars(first, last, iter);
  return failure == std::errc() && end == last ? iter : -1;
}

/// Iterations of all states of `prefix`, newest first.
std::vector<int64_t> list_states(const std::string& prefix) {
  const std::string folder = folder_of(prefix).empty() ? "." : folder_of(prefix),
                    begin = file_name_of(prefix) + "_iter_";
  std::vector<int64_t> iterations;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const int64_t iter = iteration_in(entry.path().filename().string(), begin);
    if (iter >= 0) iterations.push_back(iter);
  }
  std::sort(iterations.rbegin(), iterations.rend());
  return iterations;
}

std::optional<Snapshot> find_newest(const std::string& prefix) {
  for (const int64_t iter : list_states(prefix)) {
    try {
      return read_snapshot(snapshot_paths(prefix, iter).state);
    } catch (const Error& error) {
      log_warning() << "Snapshot of iteration " << iter << " is passed over: " << error.mistakes()[0].message;
    }
  }
  log_info() << "There is no snapshot of " << prefix << ": training starts from the beginning";
  return std::nullopt;
}

}  // namespace

SnapshotPaths snapshot_paths(const std::string& prefix, int64_t iter) {
  const std::string stem = prefix + "_iter_" + std::to_string(iter);
  return {stem + ".caffemodel", stem + ".solverstate"};
}

void write_snapshot(const SnapshotPaths& paths, const caffe::NetParameter& weights, caffe::SolverState state) {
  log_info() << "Snapshotting to binary proto file " << paths.weights;
  state.mutable_training()->set_weights_digest(write_weights(paths.weights, weights));
  log_info() << "Snapshotting solver state to binary proto file " << paths.state;
  state.set_learned_net(paths.weights);
  state.mutable_training()->set_self_digest(self_digest(state));
  // Fields come in the order of their numbers, ours last: a file cut short would pass for one of Caffe's. So a piece of
  // ours goes first; readers merge the two.
  caffe::SolverState mark;
  mark.mutable_training();
  write_file_atomically(paths.state, serialized(mark, paths.state) + serialized(state, paths.state));
}

Snapshot read_snapshot(const std::string& state_path) {
  Snapshot snapshot;
  snapshot.state_path = state_path;
  snapshot.state = read_state(state_path);
  snapshot.weights_path = find_weights(state_path, snapshot.state.learned_net());
  std::string digest;
  snapshot.weights = read_weights(snapshot.weights_path, &digest);
  if (snapshot.exact() && digest != snapshot.state.training().weights_digest())
    throw_damaged(snapshot.weights_path, "it is not what " + state_path + " was written with");
  return snapshot;
}

std::optional<Snapshot> find_snapshot(const std::string& request, const std::string& prefix) {
  return request == "auto" ? find_newest(prefix) : read_snapshot(request);
}

}  // namespace cortado
