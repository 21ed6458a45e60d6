#include "solvers/snapshot_pruning.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/error.h"
#include "core/files/file.h"
#include "proto/weights/solver_state_file.h"
#include "solvers/snapshot.h"
#include "solvers/snapshot_files.h"

namespace cortado {

namespace {

namespace fs = std::filesystem;

/// Iterations of the run's states, the newest first.
std::vector<SnapshotFile> states_of(const std::string& prefix, const std::string& run) {
  std::vector<SnapshotFile> states = list_snapshot_files(prefix);
  std::erase_if(states,
                [&](const SnapshotFile& file) { return !file.is_state || read_state_stamp(file.path).run != run; });
  std::sort(states.begin(), states.end(), [](const auto& a, const auto& b) { return a.iter > b.iter; });
  return states;
}

/// The state goes last: as long as it is there the next call finds what a death left of the others.
void remove_snapshot(const SnapshotFile& state, const std::string& prefix) {
  const SnapshotPaths paths = snapshot_paths(prefix, state.iter, state.path.ends_with(".h5"));
  std::error_code ignored;
  for (const std::string& path : {paths.weights, paths.average, paths.state}) fs::remove(path, ignored);
}

/// The iteration of keep_best as a state has it, -1 where it had none yet; nothing where the state cannot be read.
std::optional<int64_t> best_said_by(const std::string& state) {
  try {
    const caffe::SolverState read = read_solver_state(state);
    return read.training().has_keep_best_iter() ? read.training().keep_best_iter() : -1;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// A link, or where the file system has none a copy.
bool is_same_content(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  return fs::file_size(a, ignored) == fs::file_size(b, ignored) && digest_of_file(a) == digest_of_file(b);
}

}  // namespace

void link_best(const caffe::SolverParameter& config, int64_t iter) {
  const SnapshotPaths paths = snapshot_paths(config, iter);
  const std::string& weights = config.ema_decay() > 0 ? paths.average : paths.weights;
  if (!file_exists(weights)) return;
  const std::string best = best_weights_path(config), temporary = temporary_beside(best);
  std::error_code failure;
  if (fs::equivalent(best, weights, failure)) return;  // a rename of a file onto itself would leave both names
  fs::remove(temporary, failure);
  fs::create_hard_link(weights, temporary, failure);
  if (failure) fs::copy_file(weights, temporary, fs::copy_options::overwrite_existing, failure);
  if (failure) throw Error(ExitCode::kIo, "cannot write " + best + ": " + failure.message());
  replace_file(temporary, best);
}

std::set<int64_t> best_iterations(const std::string& prefix, const std::string& run) {
  const std::vector<SnapshotFile> states = states_of(prefix, run);
  std::set<int64_t> best;
  for (const char* end : {".caffemodel", ".caffemodel.h5"}) {
    const std::string linked = prefix + "_best" + end;
    if (!file_exists(linked)) continue;
    for (const SnapshotFile& file : list_snapshot_files(prefix))
      if (!file.is_state && is_same_content(linked, file.path)) best.insert(file.iter);
  }
  const auto is_best = [&](const SnapshotFile& state) { return best.contains(state.iter); };
  if (std::any_of(states.begin(), states.end(), is_best)) return best;
  for (const SnapshotFile& state : states) {
    const std::optional<int64_t> said = best_said_by(state.path);
    if (said && *said >= 0) best.insert(*said);
    if (said) break;
  }
  return best;
}

int prune_snapshots(const PruneOrder& order) {
  const std::vector<SnapshotFile> states = states_of(order.prefix, order.run);
  const size_t last = size_t(std::max<int64_t>(order.keep_last, 1));
  if (states.size() <= last) return 0;
  if (!is_whole_snapshot(states.front().path)) return -1;
  int removed = 0;
  for (size_t i = last; i < states.size(); ++i) {
    if (order.best.contains(states[i].iter)) continue;
    remove_snapshot(states[i], order.prefix);
    ++removed;
  }
  return removed;
}

}  // namespace cortado
