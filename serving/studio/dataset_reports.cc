#include "studio/dataset_reports.h"

#include <algorithm>

#include "core/text/json.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr size_t kMaxReports = 100;

/// Changes with the content of the databases.
std::string version_of(const std::vector<DatasetSet>& sets) {
  std::string version;
  for (const DatasetSet& set : sets)
    version += set.path + " " + std::to_string(set.bytes) + " " + std::to_string(set.changed) + "\n";
  return version;
}

/// The report with names of sets instead of paths.
Json with_set_names(Json report, const std::vector<DatasetSet>& sets, const std::vector<std::string>& paths) {
  if (!report.is_array() || report.size() != sets.size()) return nullptr;
  for (size_t i = 0; i < sets.size(); ++i) {
    report[i]["set"] = sets[i].name;
    report[i].erase("source");
    for (Json& one : report[i]["told_doubles"]) {
      const size_t first = size_t(std::ranges::find(paths, one.value("first_source", "")) - paths.begin());
      one["first_set"] = first < sets.size() ? sets[first].name : "";
      one.erase("first_source");
    }
  }
  return report;
}

}  // namespace

std::vector<DatasetSet> sets_of(const Folder& folder, const std::string& path) {
  std::vector<DatasetSet> sets;
  for (const char* name : {"train", "test"}) {
    const std::string database = path + "/" + name + "_lmdb";
    if (!folder.has(database + "/data.mdb")) continue;
    for (const Entry& entry : folder.list(database))
      if (entry.name == "data.mdb") sets.push_back({name, database, entry.bytes, entry.changed});
  }
  return sets;
}

Json DatasetReports::json(const Folder& folder, const std::string& path) const {
  const std::string version = version_of(sets_of(folder, path));
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(path);
  if (found == known_.end() || found->second.version != version) return {{"report", nullptr}, {"job", 0}};
  return {{"report", found->second.report}, {"job", found->second.job}};
}

int64_t DatasetReports::read(const std::shared_ptr<DatasetReports>& reports, Workplace& place,
                             const std::string& path) {
  const std::vector<DatasetSet> sets = sets_of(place.folder, path);
  if (sets.empty()) throw RequestError(Refusal::kNotFound, "'" + path + "' is not a dataset");
  const std::string version = version_of(sets);
  const std::lock_guard lock(reports->mutex_);
  if (const auto found = reports->known_.find(path);
      found != reports->known_.end() && found->second.job > 0 && found->second.version == version)
    return found->second.job;
  std::vector<std::string> words = {place.cortado, "data", "stats", "--json", "--progress"}, paths;
  for (const DatasetSet& set : sets) paths.push_back(place.folder.at(set.path));
  words.insert(words.end(), paths.begin(), paths.end());
  const auto finish = [reports, path, version](Json report) {
    const std::lock_guard guard(reports->mutex_);
    Known& known = reports->known_[path];
    if (known.version == version) known = {version, std::move(report), 0};
  };
  if (reports->known_.size() >= kMaxReports) reports->known_.erase(reports->known_.begin());
  Known& known = reports->known_[path] = {version, nullptr, 0};
  known.job = place.jobs.start({.title = "read " + path,
                                .words = words,
                                .folder = place.folder.root(),
                                .done =
                                    [=](const ChildResult& result) {
                                      finish(with_set_names(parse_json_or_null<Json>(result.out), sets, paths));
                                    },
                                .clean_up = [=](pid_t) { finish(nullptr); }});
  return known.job;
}

}  // namespace cortado::studio
