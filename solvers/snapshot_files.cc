#include "solvers/snapshot_files.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <optional>

#include "core/error.h"
#include "core/files/file.h"
#include "proto/weights/solver_state_file.h"

namespace cortado {

namespace {

namespace fs = std::filesystem;

/// Parses the part of the name after the prefix, such as "123.solverstate", with an optional ".h5" suffix.
std::optional<SnapshotFile> parse_name(std::string_view name, std::string_view begin) {
  constexpr std::string_view kHdf5 = ".h5", kState = ".solverstate";
  if (name.ends_with(kHdf5)) name.remove_suffix(kHdf5.size());
  if (!name.starts_with(begin)) return std::nullopt;
  name.remove_prefix(begin.size());
  SnapshotFile file{-1, "", false};
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), file.iter);
  if (failure != std::errc() || file.iter < 0) return std::nullopt;
  const std::string_view kind = name.substr(size_t(end - name.data()));
  file.is_state = kind == kState;
  file.is_average = kind == "_ema.caffemodel";
  if (!file.is_state && !file.is_average && kind != ".caffemodel") return std::nullopt;
  return file;
}

/// The files to be moved. Within an iteration the state is first, because without it the other files are not a
/// snapshot.
std::vector<SnapshotFile> later_files(const std::string& prefix, int64_t start) {
  std::vector<SnapshotFile> files = list_snapshot_files(prefix);
  std::set<int64_t> iterations;
  for (const SnapshotFile& file : files)
    if (file.iter > start && (start < 0 || file.is_state)) iterations.insert(file.iter);
  std::erase_if(files, [&](const SnapshotFile& file) { return !iterations.contains(file.iter); });
  std::sort(files.begin(), files.end(), [](const SnapshotFile& a, const SnapshotFile& b) {
    return std::pair(a.iter, !a.is_state) < std::pair(b.iter, !b.is_state);
  });
  return files;
}

std::string make_dated_folder(const std::string& prefix) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char date[32];
  std::strftime(date, sizeof date, "%Y%m%d_%H%M%S", &local);
  const std::string stem = prefix + "_before_" + date;
  for (int n = 1;; ++n) {
    const std::string folder = n > 1 ? stem + "_" + std::to_string(n) : stem;
    std::error_code failure;
    if (fs::create_directory(folder, failure)) return folder;
    if (failure)
      throw Error(ExitCode::kIo,
                  "cannot create the folder " + folder + " for the snapshots of an earlier run: " + failure.message(),
                  "set another snapshot_prefix");
  }
}

bool is_one_of(const std::string& path, const std::vector<std::string>& files) {
  std::error_code ignored;
  return std::any_of(files.begin(), files.end(), [&](const auto& file) { return fs::equivalent(path, file, ignored); });
}

/// `stays`: keep it under its old name, too. A hard link suffices, because snapshots are replaced by renames, never
/// overwritten.
void move_file(const std::string& path, const std::string& folder, bool stays) {
  const std::string target = join_path(folder, file_name_of(path));
  std::error_code failure;
  if (!stays) fs::rename(path, target, failure);
  if (stays) fs::create_hard_link(path, target, failure);
  if (stays && failure) fs::copy_file(path, target, failure);
  if (failure)
    throw Error(ExitCode::kIo, "cannot move " + path + ", of an earlier run, to " + folder + ": " + failure.message(),
                "set another snapshot_prefix");
}

/// The run's states, in descending order of iterations.
std::vector<SnapshotFile> states_of(const std::string& prefix, const std::string& run) {
  std::vector<SnapshotFile> states = list_snapshot_files(prefix);
  std::erase_if(states,
                [&](const SnapshotFile& file) { return !file.is_state || read_state_stamp(file.path).run != run; });
  std::sort(states.begin(), states.end(), [](const auto& a, const auto& b) { return a.iter > b.iter; });
  return states;
}

/// The state is removed last, so that after an interruption the next call finds the remaining files.
std::vector<std::string> files_of(const SnapshotFile& state, const std::string& prefix) {
  const SnapshotPaths paths = snapshot_paths(prefix, state.iter, state.path.ends_with(".h5"));
  std::vector<std::string> files = {paths.weights, paths.average, paths.state};
  std::erase_if(files, [](const std::string& file) { return !file_exists(file); });
  return files;
}

/// Nothing if the state cannot be read.
std::optional<caffe::TrainingState> training_in(const std::string& state) {
  try {
    return read_solver_state(state).training();
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// True for links to the same file, and for copies.
bool is_same_content(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  return fs::file_size(a, ignored) == fs::file_size(b, ignored) && digest_of_file(a) == digest_of_file(b);
}

}  // namespace

std::vector<SnapshotFile> list_snapshot_files(const std::string& prefix) {
  const std::string folder = folder_of(prefix), begin = file_name_of(prefix) + "_iter_";
  std::vector<SnapshotFile> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
    const std::string name = entry.path().filename().string();
    std::optional<SnapshotFile> file = parse_name(name, begin);
    if (!file || !entry.is_regular_file(ignored)) continue;
    file->path = join_path(folder, name);
    files.push_back(std::move(*file));
  }
  return files;
}

SetAside set_later_snapshots_aside(const std::string& prefix, int64_t start, const std::vector<std::string>& used) {
  SetAside aside;
  for (const SnapshotFile& file : later_files(prefix, start)) {
    if (aside.folder.empty()) aside.folder = make_dated_folder(prefix);
    move_file(file.path, aside.folder, is_one_of(file.path, used));
    if (aside.iterations.empty() || aside.iterations.back() != file.iter) aside.iterations.push_back(file.iter);
  }
  for (const char* end : {"_best.caffemodel", "_best.caffemodel.h5"}) {
    if (start >= 0 || !file_exists(prefix + end)) continue;
    if (aside.folder.empty()) aside.folder = make_dated_folder(prefix);
    move_file(prefix + end, aside.folder, is_one_of(prefix + end, used));
  }
  if (aside.folder.empty()) return aside;
  sync_folder(aside.folder);
  sync_folder(folder_of(prefix));
  return aside;
}

void link_best(const SnapshotPlan& plan, int64_t iter) {
  const SnapshotPaths paths = plan.paths(iter);
  const std::string& weights = plan.averages ? paths.average : paths.weights;
  if (!file_exists(weights)) return;
  const std::string best = plan.best_weights(), temporary = temporary_beside(best);
  std::error_code failure;
  if (fs::equivalent(best, weights, failure)) return;  // renaming a link to the same file would keep both names
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
    const std::optional<caffe::TrainingState> said = training_in(state.path);
    if (said && said->has_keep_best_iter()) best.insert(said->keep_best_iter());
    if (said) break;
  }
  return best;
}

int64_t state_before(const std::string& prefix, const std::string& run, int64_t iter) {
  for (const SnapshotFile& state : states_of(prefix, run))
    if (state.iter < iter) return state.iter;
  return -1;
}

bool is_newest_at_end(const std::string& prefix, const std::string& run) {
  const std::vector<SnapshotFile> states = states_of(prefix, run);
  const auto training = states.empty() ? std::nullopt : training_in(states.front().path);
  return training && training->has_ended_at();
}

PrunedSnapshots prune_snapshots(const PruneOrder& order) {
  PrunedSnapshots pruned;
  const std::vector<SnapshotFile> states = states_of(order.prefix, order.run);
  const size_t last = size_t(std::max<int64_t>(order.keep_last, order.newest_is_proven ? 1 : 2));
  const auto stays = [&](const SnapshotFile& state) { return order.best.contains(state.iter); };
  if (states.size() <= last || std::all_of(states.begin() + std::ptrdiff_t(last), states.end(), stays)) return pruned;
  pruned.newest_is_whole = is_whole_snapshot(states.front().path);
  if (!pruned.newest_is_whole) return pruned;
  for (size_t i = last; i < states.size(); ++i) {
    if (stays(states[i])) continue;
    pruned.iterations.push_back(states[i].iter);
    for (const std::string& file : files_of(states[i], order.prefix)) pruned.files.push_back(file);
  }
  std::error_code ignored;
  if (!order.dry_run)
    for (const std::string& file : pruned.files) fs::remove(file, ignored);
  return pruned;
}

}  // namespace cortado
