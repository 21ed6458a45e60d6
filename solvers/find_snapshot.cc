// --snapshot=auto. A prefix may have snapshots of several runs, and the highest iteration may not be from the newest
// run. So the run that wrote last is determined first, from its states; then its last complete state is used. If there
// are states but none is complete, this is an error, because training progress may be lost.

#include <algorithm>
#include <map>
#include <tuple>

#include "core/error.h"
#include "core/log.h"
#include "proto/weights/solver_state_file.h"
#include "solvers/snapshot.h"
#include "solvers/snapshot_files.h"

namespace cortado {

namespace {

struct State {
  int64_t iter;
  std::string path;
  StateStamp stamp;
};

/// Sorts states: those of the run that wrote last first, by descending iteration. States without a run's name may be
/// from several runs; they are sorted by time only.
std::vector<State> newest_first(const std::string& prefix) {
  std::vector<State> states;
  std::map<std::string, double> latest;
  for (SnapshotFile& file : list_snapshot_files(prefix)) {
    if (!file.is_state) continue;
    states.push_back({file.iter, file.path, read_state_stamp(file.path)});
    const StateStamp& stamp = states.back().stamp;
    latest[stamp.run] = std::max(latest[stamp.run], stamp.written);
  }
  const auto age = [&](const State& state) {
    const std::string& run = state.stamp.run;
    return std::tuple(latest[run], run, run.empty() ? state.stamp.written : 0, state.iter, state.path);
  };
  std::sort(states.begin(), states.end(), [&](const State& a, const State& b) { return age(a) > age(b); });
  return states;
}

bool is_whole_state(const std::string& path) {
  try {
    read_solver_state(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A damaged state may name any run. A complete state without complete weights still names the newest run.
std::optional<Snapshot> find_newest(const std::string& prefix) {
  const std::vector<State> states = newest_first(prefix);
  std::string newest_run;
  for (const State& state : states) {
    const std::string& run = state.stamp.run;
    if (!newest_run.empty() && !run.empty() && run != newest_run)
      throw Error(
          ExitCode::kSnapshot,
          "no snapshot of the newest run of " + prefix + " is complete, and " + state.path + " is of an earlier run",
          "use --snapshot=" + state.path +
              " to resume from that one, or start a new training without --snapshot and --resume");
    try {
      return read_snapshot(state.path);
    } catch (const Error& error) {
      log_warning() << "Snapshot of iteration " << state.iter << " is skipped: " << error.mistakes()[0].message;
    }
    if (newest_run.empty() && is_whole_state(state.path)) newest_run = run;
  }
  if (!states.empty())
    throw Error(ExitCode::kSnapshot, "no snapshot of " + prefix + " is complete",
                "run cortado snapshot verify " + prefix +
                    " for details, or start a new training without --snapshot and --resume");
  log_info() << "No snapshot of " << prefix << " exists: training starts from the beginning";
  return std::nullopt;
}

}  // namespace

std::optional<Snapshot> find_snapshot(const std::string& request, const std::string& prefix) {
  return request == "auto" ? find_newest(prefix) : read_snapshot(request);
}

}  // namespace cortado
