// --snapshot=auto. A prefix may hold snapshots of several runs, and the one of the highest iteration need not be of the
// newest run. So the run that wrote last is found first, by what its states say; then its last state that is whole.
// Where there are states and none of them is whole, what was learned is lost unless somebody looks: that is an error.

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

/// Those of the run that wrote last come first, the highest iteration first. States that name no run may be of many:
/// among them the time alone decides.
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

/// A damaged state may name any run; one that is whole, but whose weights are not, names the newest.
std::optional<Snapshot> find_newest(const std::string& prefix) {
  const std::vector<State> states = newest_first(prefix);
  std::string newest_run;
  for (const State& state : states) {
    const std::string& run = state.stamp.run;
    if (!newest_run.empty() && !run.empty() && run != newest_run)
      throw Error(
          ExitCode::kSnapshot,
          "no snapshot of the newest run of " + prefix + " is whole, and " + state.path + " is of an earlier run",
          "--snapshot=" + state.path + " resumes from that one; without --snapshot, training starts fresh");
    try {
      return read_snapshot(state.path);
    } catch (const Error& error) {
      log_warning() << "Snapshot of iteration " << state.iter << " is passed over: " << error.mistakes()[0].message;
    }
    if (newest_run.empty() && is_whole_state(state.path)) newest_run = run;
  }
  if (!states.empty())
    throw Error(ExitCode::kSnapshot, "no snapshot of " + prefix + " is whole",
                "cortado snapshot verify " + prefix + " tells of each; without --snapshot, training starts fresh");
  log_info() << "There is no snapshot of " << prefix << ": training starts from the beginning";
  return std::nullopt;
}

}  // namespace

std::optional<Snapshot> find_snapshot(const std::string& request, const std::string& prefix) {
  return request == "auto" ? find_newest(prefix) : read_snapshot(request);
}

}  // namespace cortado
