// `cortado snapshot`: lists, verifies, compares and prunes snapshots.
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
  std::string state, weights, average;  ///< paths; "" if missing
  int64_t bytes = 0;
  StateStamp stamp;
};

/// The prefixes of the snapshots in a folder.
std::set<std::string> prefixes_in(const std::string& folder) {
  std::set<std::string> prefixes;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const size_t at = name.rfind("_iter_");
    if (at != name.npos) prefixes.insert(join_path(folder, name.substr(0, at)));
  }
  return prefixes;
}

/// The prefixes of a run's folder, a folder of snapshots, or a prefix.
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
    throw Error(
        ExitCode::kSnapshot, "no snapshots of " + name + " found",
        "give a run's folder, a folder of snapshots, or their prefix (the PREFIX of PREFIX_iter_100.caffemodel)");
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

/// The weights of a snapshot without a state.
std::string weights_alone(const Listed& one) { return one.weights.empty() ? one.average : one.weights; }

void print(const Json& json) { std::cout << dumped_json(json, 2) << "\n"; }

int run_ls(const Arguments& arguments) {
  Json out = Json::array();
  Table table({"iteration", "state", "size", "written", "run"});
  for (const Listed& one : snapshots_named(arguments.operands()[0])) {
    out.push_back(snapshot_json(one));
    table.add({std::to_string(one.iter), one.state.empty() ? weights_alone(one) + " (weights only)" : one.state,
               bytes_text(one.bytes), one.state.empty() ? "" : date_text(one.stamp.written), one.stamp.run});
  }
  arguments.on("json") ? print(out) : void(std::cout << table.str({0, 2}));
  return 0;
}

/// The message of the Error that `read` throws; "" if it throws none.
std::string problem_of(const std::function<void()>& read) {
  try {
    read();
    return "";
  } catch (const Error& error) {
    return error.mistakes()[0].message;
  }
}

/// Why the snapshot cannot be resumed from, or its average cannot be used; "" if both are possible.
std::string what_is_wrong_with(const Listed& one) {
  return problem_of([&] {
    if (!one.state.empty()) read_snapshot(one.state);
    if (one.state.empty() && !one.weights.empty()) read_weights(one.weights);
    if (!one.average.empty()) read_weights(one.average);
  });
}

/// Reports each file, and counts the damaged ones.
class Verdicts {
 public:
  explicit Verdicts(bool json) : json_(json) {}

  void add(const std::string& path, Json entry, const std::string& problem, const std::string& otherwise) {
    damaged_ += !problem.empty();
    const std::string& text = problem.empty() ? otherwise : problem;
    entry["problem"] = text;
    out_.push_back(std::move(entry));
    if (!json_) std::cout << path << ": " << (text.empty() ? "whole" : text) << "\n";
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

int run_verify(const Arguments& arguments) {
  const std::string& name = arguments.operands()[0];
  Verdicts verdicts(arguments.on("json"));
  for (const Listed& one : snapshots_named(name))
    verdicts.add(one.state.empty() ? weights_alone(one) : one.state, snapshot_json(one), what_is_wrong_with(one),
                 one.state.empty() ? "no state: its weights can be used, but not resumed from" : "");
  for (const std::string& prefix : prefixes_of(name))
    for (const char* end : {"_best.caffemodel", "_best.caffemodel.h5"})
      if (const std::string best = prefix + end; file_exists(best))
        verdicts.add(best, {{"prefix", prefix}, {"iter", nullptr}, {"state", ""}, {"weights", best}},
                     problem_of([&] { read_weights(best); }), "");
  return verdicts.end();
}

int run_diff(const Arguments& arguments) {
  const WeightsDifference difference = weights_difference(arguments.operands()[0], arguments.operands()[1]);
  if (arguments.on("json")) {
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
    std::cout << name << ": missing in one file, or of different size\n";
  return 0;
}

void show_pruned(const std::string& prefix, const PrunedSnapshots& pruned, bool dry_run) {
  std::cout << prefix << ": " << (dry_run ? "would remove " : "removed ") << pruned.iterations.size()
            << (pruned.iterations.size() == 1 ? " snapshot\n" : " snapshots\n");
  for (const std::string& file : pruned.files) std::cout << "  " << file << "\n";
}

int run_prune(const Arguments& arguments) {
  const std::string& name = arguments.operands()[0];
  const bool dry_run = arguments.on("dry-run"), json = arguments.on("json");
  Json out = Json::array();
  snapshots_named(name);  // throws without snapshots, when there is nothing to lock
  for (const std::string& prefix : prefixes_of(name)) {
    const SnapshotLock lock(prefix);
    std::set<std::string> runs;
    for (const Listed& one : snapshots_of(prefix))
      if (!one.state.empty()) runs.insert(one.stamp.run);
    for (const std::string& run : runs) {
      const PrunedSnapshots pruned = prune_snapshots({.prefix = prefix,
                                                      .run = run,
                                                      .keep_last = arguments.integer("keep-last"),
                                                      .best = best_iterations(prefix, run),
                                                      .newest_is_proven = is_newest_at_end(prefix, run),
                                                      .dry_run = dry_run});
      if (!pruned.newest_is_whole)
        throw Error(ExitCode::kSnapshot, "the newest snapshot of " + prefix + " is damaged; nothing is removed",
                    "`cortado snapshot verify " + name + "` lists the damaged ones");
      out.push_back({{"prefix", prefix},
                     {"run", run},
                     {"removed", dry_run ? 0 : pruned.iterations.size()},
                     {"dry_run", dry_run},
                     {"iterations", pruned.iterations},
                     {"files", pruned.files}});
      if (!json) show_pruned(prefix, pruned, dry_run);
    }
  }
  if (json) print(out);
  return 0;
}

/// Runs a subcommand without the log lines of the files that it reads.
template <int (*run)(const Arguments&)>
int without_log(const Arguments& arguments) {
  set_log_level(Severity::kWarning);
  return run(arguments);
}

}  // namespace

Command snapshot_command() {
  const Operands where = {"WHERE", "a run's folder, a folder of snapshots, or their prefix", 1, 1};
  return {
      .name = "snapshot",
      .summary = "List, verify, compare and prune snapshots",
      .examples = {{"cortado snapshot verify runs/first", "whether each can be resumed from"}},
      .subcommands = {
          {.name = "snapshot ls",
           .summary = "List snapshots: size, date and run",
           .flags = {json_flag()},
           .operands = where,
           .examples = {{"cortado snapshot ls runs/first", "a run's snapshots"}},
           .run = without_log<run_ls>},
          {.name = "snapshot verify",
           .summary = "Check that snapshots can be resumed from",
           .flags = {json_flag()},
           .operands = where,
           .examples = {{"cortado snapshot verify snapshots/lenet", "exit code 8 if one is damaged"}},
           .run = without_log<run_verify>},
          {.name = "snapshot diff",
           .summary = "Show how far each blob differs between two files of weights",
           .flags = {json_flag()},
           .operands = {"WEIGHTS WEIGHTS", "two files", 2, 2},
           .examples = {{"cortado snapshot diff a.caffemodel b.caffemodel", "a table of blobs that differ"}},
           .run = without_log<run_diff>},
          {.name = "snapshot prune",
           .summary = "Remove old snapshots, and list what was removed",
           .flags = {{.name = "dry-run", .help = "list what would be removed, and remove nothing"},
                     keep_last_flag("1", 1),
                     json_flag()},
           .operands = where,
           .examples = {{"cortado snapshot prune runs/first --dry-run", "what would be removed"},
                        {"cortado snapshot prune snapshots --keep-last=2", "keep the newest two, and the best"}},
           .run = without_log<run_prune>,
           .about = "Keeps the newest snapshots and the best one. Removes nothing unless the newest snapshot of the "
                    "run is whole."}}};
}

}  // namespace cortado::tools
