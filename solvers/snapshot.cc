#include "solvers/snapshot.h"

#include <cstdlib>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "net/tensor_values.h"
#include "proto/weights/solver_state_file.h"

namespace cortado {

namespace {

[[noreturn]] void throw_damaged(const std::string& path, const std::string& how) {
  throw Error(ExitCode::kSnapshot, path + " is damaged: " + how,
              "use --snapshot=auto to resume from the newest complete snapshot");
}

std::string write_net(const std::string& path, Net& net, bool with_diffs) {
  log_info() << "Snapshotting to binary proto file " << path;
  WeightsWriter writer(path, net.name(), net.plan().weight_bytes());
  for (size_t i = 0; i < net.plan().graph.layers.size(); ++i) {
    caffe::LayerParameter layer;
    net.layer_to_proto(i, layer, with_diffs);
    check_finite(layer);
    writer.add(layer);
  }
  return writer.commit();
}

void write_state(const std::string& path, const WeightUpdate& update, caffe::SolverState head) {
  log_info() << "Snapshotting solver state to binary proto file " << path;
  SolverStateWriter writer(path, std::move(head), update.history_bytes());
  for (size_t i = 0; i < update.history_blobs(); ++i) {
    caffe::BlobProto blob;
    update.save(i, blob);
    writer.add_history(blob);
  }
  writer.commit();
}

/// Snapshots are moved as pairs, so weights next to the state take precedence over the path in it.
std::string find_weights(const std::string& state_path, const std::string& learned_net) {
  if (learned_net.empty()) throw_damaged(state_path, "it does not name its weights");
  const std::string beside = join_path(folder_of(state_path), file_name_of(learned_net));
  if (file_exists(beside)) return beside;
  if (file_exists(learned_net)) return learned_net;
  throw Error(ExitCode::kSnapshot, "the weights of " + state_path + " are missing: cannot find " + beside);
}

}  // namespace

/// When a net diverges, its loss shows it one iteration after its weights.
void check_finite(const caffe::LayerParameter& layer) {
  for (int i = 0; i < layer.blobs_size(); ++i) {
    const auto& values = layer.blobs(i).data();
    if (const std::string bad = not_finite_in({values.data(), size_t(values.size())}); !bad.empty())
      throw Error(ExitCode::kDiverged,
                  "blob " + std::to_string(i) + " of layer '" + layer.name() + "' contains " + bad +
                      ": the training has diverged, and no snapshot was written",
                  "use a smaller base_lr or clip_gradients");
  }
}

SnapshotPaths snapshot_paths(const std::string& prefix, int64_t iter, bool hdf5) {
  const std::string stem = prefix + "_iter_" + std::to_string(iter), end = hdf5 ? ".h5" : "";
  return {stem + ".caffemodel" + end, stem + ".solverstate" + end, stem + "_ema.caffemodel" + end, hdf5};
}

SnapshotPlan snapshot_plan_of(const caffe::SolverParameter& config) {
  return {.prefix = config.snapshot_prefix(),
          .hdf5 = config.snapshot_format() == caffe::SolverParameter::HDF5,
          .diffs = config.snapshot_diff(),
          .at_end = config.snapshot_after_train(),
          .keeps_best = config.has_keep_best(),
          .averages = config.ema_decay() > 0,
          .interval = config.snapshot(),
          .every = config.snapshot_every(),
          .keep_last = config.keep_last()};
}

std::string SnapshotPlan::longest_path(int64_t last) const {
  constexpr int32_t kMaxProcess = 1 << 22;  // temporary_beside() appends the number of the process
  const std::string longest = averages ? paths(last).average : paths(last).state;
  return longest + ".tmp." + std::to_string(kMaxProcess) + (hdf5 ? ".99999" : "");
}

double seconds_of_interval(const std::string& text) {
  constexpr double kLongest = 365.0 * 24 * 3600;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double seconds = number * (unit == "s" ? 1 : unit == "m" || unit == "min" ? 60 : unit == "h" ? 3600 : 0);
  if (seconds > 0 && seconds <= kLongest) return seconds;
  throw FieldError("snapshot_every", "snapshot_every is '" + text + "', which is not a valid time",
                   "set a number with s, m or h, for example snapshot_every: \"10m\"");
}

void write_snapshot(const SnapshotPaths& paths, Net& net, bool with_diffs, const WeightUpdate& update,
                    caffe::SolverState head) {
  const std::string digest =
      paths.hdf5 ? write_net_hdf5(paths.weights, net, with_diffs) : write_net(paths.weights, net, with_diffs);
  head.mutable_training()->set_weights_digest(digest);
  head.set_learned_net(paths.weights);
  if (paths.hdf5)
    write_state_hdf5(paths.state, update, std::move(head));
  else
    write_state(paths.state, update, std::move(head));
}

void write_average(const SnapshotPaths& paths, Net& net) {
  log_info() << "Writing the average of the weights to " << paths.average;
  paths.hdf5 ? write_net_hdf5(paths.average, net, false) : write_net(paths.average, net, false);
}

Snapshot read_snapshot(const std::string& state_path) {
  Snapshot snapshot;
  snapshot.state_path = state_path;
  snapshot.state = read_solver_state(state_path);
  snapshot.weights_path = find_weights(state_path, snapshot.state.learned_net());
  std::string digest;
  snapshot.weights = read_weights(snapshot.weights_path, &digest);
  if (snapshot.exact() && digest != snapshot.state.training().weights_digest())
    throw_damaged(snapshot.weights_path, "it does not match the digest in " + state_path);
  return snapshot;
}

bool is_whole_snapshot(const std::string& state_path) {
  try {
    const caffe::SolverState state = read_solver_state(state_path);
    const std::string weights = find_weights(state_path, state.learned_net());
    if (!state.has_training()) return !read_weights(weights).empty();
    return digest_of_file(weights) == state.training().weights_digest();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace cortado
