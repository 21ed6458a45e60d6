// `cortado snapshot`: the snapshots of a prefix or a folder, whether they are whole, what differs between two, and
// which of them to remove.
#include "solvers/snapshot.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/files/file.h"
#include "core/log.h"
#include "core/text/json.h"
#include "proto/weights/solver_state_file.h"
#include "solvers/snapshot_files.h"
#include "tools/convert/weights_difference.h"
#include "tools/options/run_options.h"
#include "tools/output/terminal.h"
#include "tools/program/command.h"

namespace cortado::tools {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Listed {
  std::string prefix;
  int64_t iter = 0;
  std::string state, weights, average;  ///< paths; "" where it is missing
  int64_t bytes = 0;
  StateStamp stamp;
};

/// The prefixes of the snapshots that lie in a folder.
std::set<std::string> prefixes_in(const std::string& folder) {
  std::set<std::string> prefixes;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const size_t at = name.rfind("_iter_");
    if (at != name.npos) prefixes.insert(join_path(folder, name.substr(0, at)));
  }
  return prefixes;
}

/// What the user names: a run's folder, a folder of snapshots, or a prefix.
std::set<std::string> prefixes_of(const std::string& name) {
  const std::string path = without_trailing_slashes(name);
  const std::string inner = join_path(path, "snapshots");
  if (file_exists(join_path(path, "run.json")) && fs::is_directory(inner)) return prefixes_in(inner);
  if (fs::is_directory(path)) return prefixes_in(path);
  return {path};
}

std::vector<Listed> snapshots_of(const std::string& prefix) {
  std::map<int64_t, Listed> found;
  for (const SnapshotFile& file : list_snapshot_files(prefix)) {
    Listed& one = found[file.iter];
    one.prefix = prefix;
    one.iter = file.iter;
    (file.is_state ? one.state : file.is_average ? one.average : one.weights) = file.path;
    std::error_code ignored;
    one.bytes += int64_t(fs::file_size(file.path, ignored));
    if (file.is_state) one.stamp = read_state_stamp(file.path);
  }
  std::vector<Listed> out;
  for (auto& [iter, one] : found) out.push_back(std::move(one));
  return out;
}

std::vector<Listed> snapshots_named(const std::string& name) {
  std::vector<Listed> all;
  for (const std::string& prefix : prefixes_of(name)) {
    std::vector<Listed> some = snapshots_of(prefix);
    all.insert(all.end(), some.begin(), some.end());
  }
  if (all.empty())
    throw Error(ExitCode::kSnapshot, "there are no snapshots of " + name,
                "a run's folder, a folder of snapshots, or their prefix: " + name + "_iter_100.caffemodel");
  return all;
}

std::string date_text(double seconds) {
  const std::time_t time = std::time_t(seconds);
  std::tm local{};
  ::localtime_r(&time, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

Json snapshot_json(const Listed& one) {
  return {{"prefix", one.prefix},   {"iter", one.iter},   {"state", one.state},   {"weights", one.weights},
          {"average", one.average}, {"bytes", one.bytes}, {"run", one.stamp.run}, {"written", one.stamp.written}};
}

/// Of a snapshot without a state.
std::string weights_alone(const Listed& one) { return one.weights.empty() ? one.average : one.weights; }

void print(const Json& json) { std::cout << dumped_json(json, 2) << "\n"; }

int list_snapshots(const std::string& name, bool json) {
  Json out = Json::array();
  Table table({"iteration", "state", "size", "written", "run"});
  for (const Listed& one : snapshots_named(name)) {
    out.push_back(snapshot_json(one));
    table.add({std::to_string(one.iter), one.state.empty() ? weights_alone(one) + " (weights alone)" : one.state,
               bytes_text(one.bytes), one.state.empty() ? "" : date_text(one.stamp.written), one.stamp.run});
  }
  json ? print(out) : void(std::cout << table.str({0, 2}));
  return 0;
}

/// What reading throws; "" where it throws nothing.
std::string problem_of(const std::function<void()>& read) {
  try {
    read();
    return "";
  } catch (const Error& error) {
    return error.mistakes()[0].message;
  }
}

/// "" where a resume would take it and its average can be used.
std::string what_is_wrong_with(const Listed& one) {
  return problem_of([&] {
    if (!one.state.empty()) read_snapshot(one.state);
    if (one.state.empty() && !one.weights.empty()) read_weights(one.weights);
    if (!one.average.empty()) read_weights(one.average);
  });
}

/// Tells of each file, and counts those that are damaged.
class Verdicts {
 public:
  explicit Verdicts(bool json) : json_(json) {}

  void add(const std::string& path, Json entry, const std::string& problem, const std::string& otherwise) {
    damaged_ += !problem.empty();
    const std::string& told = problem.empty() ? otherwise : problem;
    entry["problem"] = told;
    out_.push_back(std::move(entry));
    if (!json_) std::cout << path << ": " << (told.empty() ? "whole" : told) << "\n";
  }
  int end() const {
    if (json_) print(out_);
    return damaged_ > 0 ? int(ExitCode::kSnapshot) : 0;
  }

 private:
  const bool json_;
  Json out_ = Json::array();
  int damaged_ = 0;
};

int verify(const std::string& name, bool json) {
  Verdicts verdicts(json);
  for (const Listed& one : snapshots_named(name))
    verdicts.add(one.state.empty() ? weights_alone(one) : one.state, snapshot_json(one), what_is_wrong_with(one),
                 one.state.empty() ? "there is no state: its weights can be used, not resumed from" : "");
  for (const std::string& prefix : prefixes_of(name))
    for (const char* end : {"_best.caffemodel", "_best.caffemodel.h5"})
      if (const std::string best = prefix + end; file_exists(best))
        verdicts.add(best, {{"prefix", prefix}, {"iter", nullptr}, {"state", ""}, {"weights", best}},
                     problem_of([&] { read_weights(best); }), "");
  return verdicts.end();
}

int diff(const std::string& a, const std::string& b, bool json) {
  const WeightsDifference difference = weights_difference(a, b);
  if (json) {
    Json changed = Json::array();
    for (const BlobChange& blob : difference.changed)
      changed.push_back({{"blob", blob.name}, {"norm", blob.norm}, {"change", blob.change}, {"largest", blob.largest}});
    print({{"equal", difference.equal}, {"changed", changed}, {"elsewhere", difference.elsewhere}});
    return 0;
  }
  Table table({"blob", "norm", "norm of change", "relative", "largest change"});
  for (const BlobChange& blob : difference.changed)
    table.add({blob.name, number_text("%.4g", blob.norm), number_text("%.4g", blob.change),
               blob.norm > 0 ? number_text("%.3g", blob.change / blob.norm) : "-", number_text("%.4g", blob.largest)});
  if (!difference.changed.empty()) std::cout << table.str({1, 2, 3, 4});
  std::cout << difference.equal << " blobs are equal, " << difference.changed.size() << " differ\n";
  for (const std::string& name : difference.elsewhere)
    std::cout << name << ": in one of them alone, or of another size\n";
  return 0;
}

int prune(const std::string& name, int64_t last, bool json) {
  Json out = Json::array();
  snapshots_named(name);  // or there is nothing to lock
  for (const std::string& prefix : prefixes_of(name)) {
    const SnapshotLock lock(prefix);
    const std::vector<Listed> snapshots = snapshots_of(prefix);
    std::set<std::string> runs;
    for (const Listed& one : snapshots)
      if (!one.state.empty()) runs.insert(one.stamp.run);
    for (const std::string& run : runs) {
      const int removed = prune_snapshots({prefix, run, last, best_iterations(prefix, run)});
      if (removed < 0)
        throw Error(ExitCode::kSnapshot, "the newest snapshot of " + prefix + " is not whole: nothing is removed",
                    "cortado snapshot verify " + name);
      out.push_back({{"prefix", prefix}, {"run", run}, {"removed", removed}});
      if (!json) std::cout << prefix << ": removed " << removed << "\n";
    }
  }
  if (json) print(out);
  return 0;
}

const std::vector<std::string> kSnapshotActions = {"ls", "verify", "diff", "prune"};

int run_snapshot(const Arguments& arguments) {
  set_log_level(Severity::kWarning);
  const std::vector<std::string>& words = arguments.operands();
  const std::string& action = words[0];
  const bool json = arguments.on("json");
  if (std::find(kSnapshotActions.begin(), kSnapshotActions.end(), action) == kSnapshotActions.end())
    throw usage_error("'" + action + "' is no action of snapshot: ls, verify, diff or prune",
                      did_you_mean(action, kSnapshotActions));
  const size_t wanted = action == "diff" ? 3 : 2;
  if (words.size() != wanted)
    throw usage_error("snapshot " + action + " takes " +
                      (wanted == 3 ? "two files" : "a run's folder, a folder or a prefix"));
  if (action == "ls") return list_snapshots(words[1], json);
  if (action == "verify") return verify(words[1], json);
  if (action == "diff") return diff(words[1], words[2], json);
  return prune(words[1], arguments.integer("keep-last"), json);
}

}  // namespace

Command snapshot_command() {
  return {
      .name = "snapshot",
      .summary = "lists, verifies, compares and removes snapshots",
      .flags = {{.name = "keep-last",
                 .kind = FlagKind::kInteger,
                 .value = "N",
                 .help = "so many of the newest stay, and PREFIX_best",
                 .fallback = "1",
                 .least = 1,
                 .kinds = {"prune"}},
                json_flag()},
      .operands = {"ACTION WHERE...",
                   "ls, verify or prune, and a run's folder, a folder of snapshots or their prefix; or diff and two "
                   "files",
                   1, 3, kSnapshotActions},
      .examples = {{"cortado snapshot ls runs/first", "its snapshots, when they were written, by which run"},
                   {"cortado snapshot verify snapshots/lenet", "whether each can be resumed from: else exit code 8"},
                   {"cortado snapshot diff a.caffemodel b.caffemodel", "how far each blob has moved"},
                   {"cortado snapshot prune snapshots --keep-last=2", "removes all but the newest two, and the best"}},
      .run = run_snapshot,
      .about = "prune removes nothing unless the newest snapshot of the run is whole."};
}

}  // namespace cortado::tools
