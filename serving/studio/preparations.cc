// New trainings for datasets: `cortado new` writes net and solver, and estimates the time. The user then starts the
// training, keeps the files to edit them, or discards them.
#include "studio/preparations.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "core/text/json.h"
#include "studio/bin.h"
#include "tools/starter/starting_net.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr const char* kMark = "/.prepared";
constexpr const char* kPreparations = "trainings/";
constexpr std::chrono::seconds kPrepare(600);
constexpr int64_t kMaxMark = 1 << 20, kMaxPrepared = 64 << 20;

/// Whether the folder has an entry of this name. Links do not count.
bool has_entry(const Folder& folder, const std::string& path, const std::string& name) {
  if (!folder.has(path)) return false;
  const std::vector<Entry> entries = folder.list(path);
  return std::ranges::find(entries, name, &Entry::name) != entries.end();
}

/// "detector" for a dataset with a label map, else "classifier". `convert` writes the map into the database, earlier
/// versions next to it.
std::string kind_of(const Folder& folder, const std::string& data) {
  constexpr const char* kMap = "labelmap.prototxt";
  if (has_entry(folder, data + "/train_lmdb", kMap)) return "detector";
  const bool has_map = has_entry(folder, data, std::string("train_lmdb.") + kMap) || has_entry(folder, data, kMap);
  return has_map && !has_entry(folder, data, "labels.txt") ? "detector" : "classifier";
}

/// The kind of training that a dataset is for, and the nets that it can start from.
Json starts(const Folder& folder, const Request& request) {
  const std::string kind = kind_of(folder, request.parameter("data"));
  Json nets = Json::array();
  for (const std::string& name : tools::known_starts(kind))
    nets.push_back({{"name", name}, {"trained", !tools::trained_weights(name).empty()}});
  return {{"kind", kind}, {"nets", nets}};
}

/// The arguments of `cortado new`.
std::vector<std::string> new_words(const Folder& folder, const Json& body, const std::string& path) {
  const std::string data = text_in(body, "data"), kind = kind_of(folder, data);
  folder.at(data);
  std::vector<std::string> words = {"new", kind, "--data=" + data, "--output=" + path, "--json"};
  if (const std::string from = text_in(body, "from"); !from.empty()) {  // a file in the folder, or the name of a model
    const bool is_file = from.find('/') != std::string::npos || folder.has(from);
    words.push_back("--from=" + (is_file ? folder.file_at(from) : checked_name(from)));
  }
  if (const std::string weights = text_in(body, "weights"); !weights.empty())
    words.push_back("--weights=" + folder.file_at(weights));
  for (const char* name : {"size", "batch", "epochs"})
    if (const double value = number_in(body, name, 0); value >= 1)
      words.push_back(std::string("--") + name + "=" + std::to_string(int64_t(value)));
  return words;
}

struct Mark {
  std::string owner;
  std::map<std::string, std::string> digests;  ///< by name of the file
  bool is_complete = false;
};

std::string mark_text(const std::string& path, const std::string& owner, const Json& digests) {
  return dump({{"path", path}, {"owner", owner}, {"files", digests}});
}

/// The mark of the training; none if it was made for another folder, and copied or renamed with this one.
std::optional<Mark> mark_of(const Folder& folder, const std::string& path) {
  try {
    if (!folder.has_file(path + kMark)) return std::nullopt;
    const Json json = parse_json_or_null<Json>(folder.read(path + kMark, kMaxMark));
    if (!json.is_object() || text_in(json, "path") != path) return std::nullopt;
    Mark mark;
    mark.owner = text_in(json, "owner");
    if (!json.contains("files") || !json["files"].is_object()) return mark;
    for (const auto& [name, digest] : json["files"].items()) mark.digests[name] = text_in(json["files"], name.c_str());
    mark.is_complete = true;
    return mark;
  } catch (const RequestError&) {  // removed meanwhile, or of another program
    return std::nullopt;
  }
}

Json digests_of_files(const Folder& folder, const std::string& path) {
  Json digests = Json::object();
  for (const Entry& entry : folder.list(path))
    if (!entry.is_folder) digests[entry.name] = digest_of(folder.read(path + "/" + entry.name, kMaxPrepared));
  return digests;
}

/// Whether the folder has the mark, an empty folder for snapshots, and the files with these digests, and nothing else.
bool is_as_prepared(const Folder& folder, const std::string& path, const std::map<std::string, std::string>& digests) {
  namespace fs = std::filesystem;
  std::set<std::string> missing = {std::string(kMark).substr(1)};
  for (const auto& [name, digest] : digests) missing.insert(name);
  std::error_code failure;
  for (fs::directory_iterator entry(folder.at(path), failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (name == "snapshots" && fs::is_directory(entry->symlink_status(failure)) && fs::is_empty(entry->path(), failure))
      continue;
    if (missing.erase(name) == 0) return false;
  }
  if (failure || !missing.empty()) return false;
  return std::ranges::all_of(digests, [&](const auto& one) {
    return digest_of(folder.read(path + "/" + one.first, kMaxPrepared)) == one.second;
  });
}

void remove_mark(const Folder& folder, const std::string& path) {
  try {
    folder.remove(path + kMark);
  } catch (const RequestError&) {  // removed meanwhile
  }
}

void put_into_bin(const Folder& folder, const std::string& path) {
  remove_mark(folder, std::string(kBin) + "/" + move_to_bin(folder, path));
}

/// Frees the name of a training that was not prepared completely.
void put_away(const Folder& folder, const std::string& path) {
  std::error_code failure;
  if (!is_as_prepared(folder, path, {})) return put_into_bin(folder, path);
  remove_mark(folder, path);
  for (const std::string& empty : {path + "/snapshots", path}) std::filesystem::remove(folder.at(empty), failure);
}

/// Moves the training to the bin. Returns false, and keeps it, if the owner has not prepared it, if a file was added or
/// changed since, or if a training uses it.
bool discard_prepared(Workplace& place, const std::string& path, const std::string& owner) {
  const Workplace::Change change = place.begin_change();
  const std::optional<Mark> mark = mark_of(place.folder, path);
  if (!mark || !mark->is_complete || mark->owner != owner) return false;
  if (!place.run_index.in_use().user_of(place.folder.at(path)).empty()) return false;
  if (!is_as_prepared(place.folder, path, mark->digests)) return false;
  put_into_bin(place.folder, path);
  return true;
}

/// The trainings that are being prepared, so that their owners can cancel them.
class Preparing {
 public:
  /// Throws RequestError(kConflict) if the path is claimed.
  const std::atomic<bool>& begin(Claims& claims, const std::string& path, const std::string& owner) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<void> claim = claims.claim(path);
    Work& work = works_[path];
    work.claim = std::move(claim);
    work.owner = owner;
    work.cancelled = false;
    return work.cancelled;
  }

  /// Ends it, unless it was cancelled.
  bool end_if_wanted(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (works_[path].cancelled) return false;
    works_.erase(path);
    return true;
  }

  void end(const std::string& path) {
    const std::lock_guard lock(mutex_);
    works_.erase(path);
  }

  /// Returns whether the owner is preparing it.
  bool cancel(const std::string& path, const std::string& owner) {
    const std::lock_guard lock(mutex_);
    const auto found = works_.find(path);
    if (found == works_.end() || found->second.owner != owner) return false;
    found->second.cancelled = true;
    return true;
  }

 private:
  struct Work {
    std::shared_ptr<void> claim;
    std::string owner;
    std::atomic<bool> cancelled;
  };

  std::mutex mutex_;
  std::map<std::string, Work> works_;
};

/// Frees the name, if the owner or a killed studio prepared it.
void free_name(Workplace& place, const std::string& path, const std::string& owner) {
  const std::optional<Mark> mark = mark_of(place.folder, path);
  if (!mark) return;
  if (!mark->is_complete) {
    if (const Descriptor lock = lock_if_free(place.folder.at(path + kMark)); lock.ok())
      return put_away(place.folder, path);
    throw RequestError(Refusal::kConflict, "another studio is preparing " + path);
  }
  if (mark->owner != owner)
    throw RequestError(Refusal::kConflict,
                       "another page has prepared " + path + ", and not started it; choose another name, or delete it");
  discard_prepared(place, path, owner);
}

/// Creates the training with its mark, and locks that.
Descriptor make_marked(Workplace& place, const std::string& path, const std::string& owner) {
  const std::shared_lock starting(place.starting);
  for (const std::string& taken : {path, "runs/" + file_name_of(path)})
    if (place.folder.has(taken)) throw RequestError(Refusal::kInvalid, taken + " exists already");
  place.folder.make_new(path);
  return place.folder.write_new(path + kMark, mark_text(path, owner, nullptr));
}

/// Writes the files of a training, and returns the choices and the estimated time.
Json write_training(Workplace& place, const std::vector<std::string>& words, const std::string& path,
                    const std::string& owner, const std::atomic<bool>& cancelled) {
  const Descriptor lock = make_marked(place, path, owner);
  try {
    Json project = parse_json<Json>(place.run(words, kPrepare, &cancelled).out);
    write_file_atomically(place.folder.at(path) + kMark, mark_text(path, owner, digests_of_files(place.folder, path)));
    project["path"] = path;
    project["kind"] = words[1];
    return project;
  } catch (...) {
    if (place.folder.has(path)) put_away(place.folder, path);
    throw;
  }
}

Json prepare(Workplace& place, Preparing& preparing, const Request& request) {
  const Json body = request.body();
  const std::string path = kPreparations + checked_name(text_in(body, "name")), owner = text_in(body, "owner");
  const std::vector<std::string> words = new_words(place.folder, body, path);
  const std::atomic<bool>& cancelled = preparing.begin(place.claims, path, owner);
  try {
    free_name(place, path, owner);
    Json project = write_training(place, words, path, owner, cancelled);
    if (preparing.end_if_wanted(path)) return project;
    put_into_bin(place.folder, path);
    throw RequestError(Refusal::kCancelled, "it was discarded");
  } catch (...) {
    preparing.end(path);
    throw;
  }
}

/// The path of a request, checked to be a training's.
std::string training_path(const Request& request) {
  const std::string path = text_in(request.body(), "path");
  if (!path.starts_with(kPreparations)) throw RequestError(Refusal::kInvalid, "'" + path + "' is not a training");
  checked_name(path.substr(std::string(kPreparations).size()));
  return path;
}

/// Makes the files the user's own.
void keep(Workplace& place, const std::string& path, const std::string& owner) {
  const std::shared_lock starting(place.starting);
  place.claims.check_free(path);
  const std::optional<Mark> mark = mark_of(place.folder, path);
  if (!mark) return;
  if (mark->owner != owner) throw RequestError(Refusal::kConflict, "another page has prepared " + path);
  remove_mark(place.folder, path);
}

}  // namespace

AcceptedFiles::AcceptedFiles(const Workplace& place, const std::string& solver) : folder_(place.folder) {
  place.claims.check_free(solver);
  const std::string path = folder_of(solver);
  if (!solver.starts_with(kPreparations) || !mark_of(folder_, path)) return;
  try {
    content_ = folder_.read(path + kMark, kMaxMark);
    mark_ = path + kMark;
    remove_mark(folder_, path);
  } catch (const RequestError&) {  // accepted meanwhile
  }
}

void AcceptedFiles::undo() const {
  try {
    if (!mark_.empty()) folder_.write_new(mark_, content_);
  } catch (const RequestError&) {  // without a mark the files are the user's
  }
}

void remove_unfinished_preparations(const Folder& folder) {
  if (!folder.has(kPreparations)) return;
  for (const Entry& entry : folder.list_if_readable(kPreparations)) {
    const std::string path = kPreparations + entry.name;
    if (!entry.is_folder) continue;
    remove_leftovers(folder.at(path) + kMark);
    const std::optional<Mark> mark = mark_of(folder, path);
    if (!mark || mark->is_complete) continue;
    if (const Descriptor lock = lock_if_free(folder.at(path + kMark)); lock.ok()) put_away(folder, path);
  }
}

Routes preparation_routes(Workplace& place) {
  const auto preparing = std::make_shared<Preparing>();
  return {
      {"GET", "/api/starts", [&](const Request& request) { return json_reply(starts(place.folder, request)); }},
      {"POST", "/api/trainings",
       [&place, preparing](const Request& request) { return json_reply(prepare(place, *preparing, request)); }},
      {"POST", "/api/training/keep",
       [&place](const Request& request) {
         keep(place, training_path(request), text_in(request.body(), "owner"));
         return json_reply(Json::object());
       }},
      {"POST", "/api/training/discard",
       [&place, preparing](const Request& request) {
         const std::string path = training_path(request), owner = text_in(request.body(), "owner");
         const bool is_cancelled = preparing->cancel(path, owner);
         if (!is_cancelled) place.claims.check_free(path);
         return json_reply({{"discarded", is_cancelled || discard_prepared(place, path, owner)}});
       }},
  };
}

}  // namespace cortado::studio
