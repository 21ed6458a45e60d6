// New trainings for datasets: `cortado new` writes net and solver, and estimates the time. The user then starts the
// training, keeps the files to edit them, or discards them.
#include "studio/preparations.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/files/file.h"
#include "core/text/json.h"
#include "studio/workplace.h"
#include "tools/starter/starting_net.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr const char* kMark = "/.prepared";
constexpr const char* kPreparations = "trainings/";
constexpr std::chrono::seconds kPrepare(600);

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

/// Writes the files of a training, and returns the choices and the estimated time.
Json prepare(const Workplace& place, const Request& request) {
  const Json body = request.body();
  const std::string name = checked_name(text_in(body, "name")), path = kPreparations + name;
  const std::vector<std::string> words = new_words(place.folder, body, path);
  if (place.folder.has(path)) discard_prepared(place.folder, path);
  for (const std::string& taken : {path, "runs/" + name})
    if (place.folder.has(taken)) throw RequestError(Refusal::kInvalid, taken + " exists already");
  place.folder.make(path);
  write_file_atomically(place.folder.at(path) + kMark, "");
  try {
    Json project = parse_json<Json>(place.run(words, kPrepare).out);
    write_file_atomically(place.folder.at(path) + kMark, "");  // newer than the files
    project["path"] = path;
    project["kind"] = words[1];
    return project;
  } catch (...) {
    write_file_atomically(place.folder.at(path) + kMark, "");
    discard_prepared(place.folder, path);
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

}  // namespace

void accept_prepared(const Folder& folder, const std::string& solver) {
  const std::string mark = folder_of(solver) + kMark;
  std::error_code ignored;
  if (solver.starts_with(kPreparations) && folder.has(mark)) std::filesystem::remove(folder.at(mark), ignored);
}

bool discard_prepared(const Folder& folder, const std::string& path) {
  namespace fs = std::filesystem;
  if (!folder.has(path + kMark)) return false;
  const std::string whole = folder.at(path);
  const std::vector<Entry> entries = folder.list(path);  // without the mark, other hidden files, and links
  std::error_code failure;
  if (size_t(std::distance(fs::directory_iterator(whole, failure), {})) != entries.size() + 1) return false;
  const fs::file_time_type marked = fs::last_write_time(whole + kMark, failure);
  for (const Entry& entry : entries) {
    const bool is_own = entry.is_folder ? entry.name == "snapshots" && fs::is_empty(whole + "/snapshots", failure)
                                        : entry.name.ends_with(".prototxt") || entry.name == "labels.txt";
    const bool is_newer = !entry.is_folder && fs::last_write_time(whole + "/" + entry.name, failure) > marked;
    if (!is_own || is_newer || failure) return false;
  }
  fs::remove_all(whole, failure);
  return !failure;
}

Routes preparation_routes(Workplace& place) {
  return {
      {"GET", "/api/starts", [&](const Request& request) { return json_reply(starts(place.folder, request)); }},
      {"POST", "/api/trainings", [&](const Request& request) { return json_reply(prepare(place, request)); }},
      {"POST", "/api/training/keep",
       [&](const Request& request) {
         accept_prepared(place.folder, training_path(request) + "/solver.prototxt");
         return json_reply(Json::object());
       }},
      {"POST", "/api/training/discard",
       [&](const Request& request) {
         return json_reply({{"discarded", discard_prepared(place.folder, training_path(request))}});
       }},
  };
}

}  // namespace cortado::studio
