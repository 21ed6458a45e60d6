// Files and folders: list, upload, rename, delete to a bin and restore. What a running training uses is not changed.
#include <algorithm>
#include <ctime>
#include <optional>
#include <shared_mutex>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/json.h"
#include "core/text/text.h"
#include "data/image/image_formats.h"
#include "studio/folder.h"
#include "studio/run_index.h"
#include "studio/workplace.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr const char* kBin = ".studio/bin";
constexpr std::string_view kOrigin = ".json";  // NAME.json in the bin has the path from which NAME came
constexpr int64_t kMaxCounted = 100000, kMaxOrigin = 1 << 16, kMaxImage = 64 << 20;
constexpr std::array kAnnotations = {".xml", ".txt", ".json"};

std::string joined_path(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

/// The kind of a folder, for its mark in lists: run, dataset, training or folder.
std::string folder_kind(const Folder& folder, const std::string& path) {
  if (folder.has(joined_path(path, "run.json"))) return "run";
  if (folder.has(joined_path(path, "train_lmdb/data.mdb")) || folder.has(joined_path(path, "data.mdb")))
    return "dataset";
  return folder.has(joined_path(path, "solver.prototxt")) ? "training" : "folder";
}

std::optional<int64_t> count_if_readable(const Folder& folder, const std::string& path, int64_t most) {
  try {
    return folder.count(path, most);
  } catch (const RequestError&) {
    return std::nullopt;
  }
}

Json listing(const Folder& folder, const Request& request) {
  const std::string path = request.parameter("path");
  Json entries = Json::array();
  int64_t left = kMaxCounted;
  for (const Entry& entry : folder.list(path)) {
    Json one = {{"name", entry.name}, {"folder", entry.is_folder}, {"bytes", entry.bytes}, {"changed", entry.changed}};
    if (entry.is_folder) {
      const std::string whole = joined_path(path, entry.name);
      one["kind"] = folder_kind(folder, whole);
      const std::optional<int64_t> count = count_if_readable(folder, whole, left);
      if (count && *count < left) one["entries"] = *count;  // otherwise unknown
      if (!count) one["unreadable"] = true;
      left -= count.value_or(0);
    }
    entries.push_back(one);
  }
  Json odd = Json::array();
  for (const auto& [name, kind] : folder.odd_entries(path)) odd.push_back({{"name", name}, {"kind", kind}});
  return {{"path", path}, {"kind", folder_kind(folder, path)}, {"entries", entries}, {"odd", odd}};
}

/// Refuses changes of the studio's hidden files, and of what a running training uses.
void check_may_change(const Folder& folder, RunIndex& runs, const std::string& path) {
  if (path.empty() || path.starts_with('.') || path.find("/.") != std::string::npos)
    throw RequestError(Refusal::kForbidden, "'" + path + "' cannot be changed here");
  if (const std::string user = runs.in_use().user_of(folder.at(path)); !user.empty())
    throw RequestError(Refusal::kConflict,
                       path + " is used by the running training " + folder.name_of(user) + "; stop it first");
}

/// Until the change is done no training starts. Refused while one does.
std::unique_lock<std::shared_mutex> begin_change(Workplace& place) {
  std::unique_lock<std::shared_mutex> change(place.starting, std::try_to_lock);
  if (!change) throw RequestError(Refusal::kConflict, "a training is being started; try again when it runs");
  return change;
}

void check_exists(const Folder& folder, const std::string& path) {
  if (!folder.has(path)) throw RequestError(Refusal::kNotFound, path + ": no such file or folder");
}

Json rename(Workplace& place, RunIndex& runs, const Request& request) {
  const Folder& folder = place.folder;
  const Json body = request.body();
  const std::string path = text_in(body, "path"), name = checked_file_name(text_in(body, "name"));
  check_exists(folder, path);
  const std::unique_lock<std::shared_mutex> change = begin_change(place);
  check_may_change(folder, runs, path);
  const std::string renamed = joined_path(folder_of(path), name);
  folder.move(path, renamed);
  return {{"path", renamed}};
}

/// Uploads go to folders of the user's own files, not into datasets, runs and trainings.
void check_may_upload(const Folder& folder, const std::string& path) {
  for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string above = path.substr(0, end);
    checked_file_name(file_name_of(above));
    if (const std::string kind = folder_kind(folder, above); kind != "folder")
      throw RequestError(Refusal::kForbidden, above + " is a " + kind + "; upload to another folder");
  }
  const std::string name = lower_case(checked_file_name(file_name_of(path)));
  if (!data::is_served_image_name(name) &&
      std::ranges::none_of(kAnnotations, [&](const char* ending) { return name.ends_with(ending); }))
    throw RequestError(Refusal::kMediaType, file_name_of(path) + " is neither an image nor an annotation");
}

/// The body is the file.
Json upload(const Folder& folder, const Request& request) {
  const std::string path = request.parameter("path");
  check_may_upload(folder, path);
  folder.make(folder_of(path));
  folder.write_new(path, request.content());
  return {{"path", path}};
}

/// An image as it is, for the browser to show. The type is that of its content, whatever its name.
http::Reply image(const Folder& folder, const Request& request) {
  std::string content = folder.read(request.parameter("path"), kMaxImage);
  const data::ImageFormat* const format = data::image_format_of(content);
  const std::string type = format == nullptr ? "" : format->shown_as;
  if (type.empty()) throw RequestError(Refusal::kMediaType, "not an image that browsers show");
  return {.body = std::move(content),
          .type = type,
          .headers = {{"Content-Security-Policy", "default-src 'none'; sandbox"}}};
}

Json make_folder(const Folder& folder, const Request& request) {
  const std::string path = text_in(request.body(), "path");
  check_may_upload(folder, path + "/x.jpg");
  if (folder.has(path)) throw RequestError(Refusal::kConflict, path + " exists already");
  folder.make(path);
  return {{"path", path}};
}

// The bin

/// The name without an incomplete UTF-8 sequence at its end.
std::string shortened(std::string name, size_t most) {
  if (name.size() <= most) return name;
  while (most > 0 && (uint8_t(name[most]) & 0xc0) == 0x80) --most;
  name.resize(most);
  return name;
}

std::string bin_name(const std::string& name) {
  const time_t now = ::time(nullptr);
  struct tm local {};
  ::localtime_r(&now, &local);
  char date[32];
  std::strftime(date, sizeof date, "%Y%m%d-%H%M%S-", &local);
  return date + shortened(name, 180);
}

/// Moves it to the bin. Its origin is written first, under a name that nothing else has.
Json delete_to_bin(Workplace& place, RunIndex& runs, const Request& request) {
  const Folder& folder = place.folder;
  const std::string path = text_in(request.body(), "path");
  check_exists(folder, path);
  const std::unique_lock<std::shared_mutex> change = begin_change(place);
  check_may_change(folder, runs, path);
  folder.make(kBin);
  std::string name = bin_name(file_name_of(path));
  const std::string origin = dump({{"path", path}, {"deleted", int64_t(::time(nullptr))}});
  for (int i = 2; folder.has(joined_path(kBin, name + std::string(kOrigin))); ++i)
    name = bin_name(file_name_of(path)) + "-" + std::to_string(i);
  const std::string item = joined_path(kBin, name);
  folder.write_new(item + std::string(kOrigin), origin);
  try {
    folder.move(path, item);
  } catch (...) {
    folder.remove(item + std::string(kOrigin));
    throw;
  }
  return {{"name", name}};
}

/// Its origin as {"path", "deleted"}, or null.
Json origin_of(const Folder& folder, const std::string& name) {
  const std::string item = joined_path(kBin, name);
  if (name.find('/') != std::string::npos || !folder.has(item) || !folder.has(item + std::string(kOrigin)))
    return nullptr;
  const Json origin = parse_json_or_null<Json>(folder.read(item + std::string(kOrigin), kMaxOrigin));
  return origin.is_object() && origin.contains("path") && origin["path"].is_string() ? origin : Json();
}

/// The newest first.
Json bin(const Folder& folder) {
  Json list = Json::array();
  if (!folder.has(kBin)) return list;
  std::vector<Entry> entries = folder.list_if_readable(kBin);
  std::ranges::sort(entries, std::greater<>(), &Entry::name);
  for (const Entry& entry : entries) {
    Json origin = origin_of(folder, entry.name);
    if (origin.is_null()) continue;
    origin["name"] = entry.name;
    origin["folder"] = entry.is_folder;
    list.push_back(origin);
  }
  return list;
}

std::string name_in_bin(const Folder& folder, const Request& request) {
  std::string name = text_in(request.body(), "name");
  if (origin_of(folder, name).is_null()) throw RequestError(Refusal::kNotFound, "'" + name + "' is not in the bin");
  return name;
}

Json restore(const Folder& folder, const Request& request) {
  const std::string name = name_in_bin(folder, request), path = origin_of(folder, name)["path"];
  if (folder.has(path)) throw RequestError(Refusal::kConflict, path + " exists already; rename it first");
  folder.make(folder_of(path));
  folder.move(joined_path(kBin, name), path);
  folder.remove(joined_path(kBin, name + std::string(kOrigin)));
  return {{"path", path}};
}

Json delete_for_good(const Folder& folder, const Request& request) {
  const std::string name = name_in_bin(folder, request);
  folder.remove(joined_path(kBin, name));
  folder.remove(joined_path(kBin, name + std::string(kOrigin)));
  return {{"name", name}};
}

}  // namespace

Routes file_routes(Workplace& place) {
  const auto runs = std::make_shared<RunIndex>(place.folder);
  const Folder& folder = place.folder;
  return {
      {"GET", "/api/studio",
       [&](const Request&) {
         return json_reply({{"folder", folder.root()}, {"name", file_name_of(folder.root())}});
       }},
      {"GET", "/api/folder", [&](const Request& request) { return json_reply(listing(folder, request)); }},
      {"POST", "/api/folder", [&](const Request& request) { return json_reply(make_folder(folder, request)); }},
      {"GET", "/api/image", [&](const Request& request) { return image(folder, request); }},
      {"POST", "/api/upload", [&](const Request& request) { return json_reply(upload(folder, request)); }},
      {"POST", "/api/rename",
       [&place, runs](const Request& request) { return json_reply(rename(place, *runs, request)); }},
      {"POST", "/api/delete",
       [&place, runs](const Request& request) { return json_reply(delete_to_bin(place, *runs, request)); }},
      {"GET", "/api/bin", [&](const Request&) { return json_reply(bin(folder)); }},
      {"POST", "/api/bin/restore", [&](const Request& request) { return json_reply(restore(folder, request)); }},
      {"POST", "/api/bin/delete", [&](const Request& request) { return json_reply(delete_for_good(folder, request)); }},
  };
}

}  // namespace cortado::studio
