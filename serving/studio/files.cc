// Files and folders: list, upload, rename, delete to the bin. What a running training uses is not changed.
#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/files/file.h"
#include "core/text/text.h"
#include "data/image/image_formats.h"
#include "studio/bin.h"
#include "studio/folder.h"
#include "studio/workplace.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr int64_t kMaxCounted = 100000, kMaxImage = 64 << 20;
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

/// Refuses changes of the studio's hidden files, of what is being made, and of what a running training uses.
void check_may_change(Workplace& place, const std::string& path) {
  const Folder& folder = place.folder;
  if (path.empty() || path.starts_with('.') || path.find("/.") != std::string::npos)
    throw RequestError(Refusal::kForbidden, "'" + path + "' cannot be changed here");
  place.claims.check_free(path);
  if (const std::string user = place.run_index.in_use().user_of(folder.at(path)); !user.empty())
    throw RequestError(Refusal::kConflict,
                       path + " is used by the running training " + folder.name_of(user) + "; stop it first");
}

void check_exists(const Folder& folder, const std::string& path) {
  if (!folder.has(path)) throw RequestError(Refusal::kNotFound, path + ": no such file or folder");
}

Json rename(Workplace& place, const Request& request) {
  const Folder& folder = place.folder;
  const Json body = request.body();
  const std::string path = text_in(body, "path"), name = checked_file_name(text_in(body, "name"));
  check_exists(folder, path);
  const Workplace::Change change = place.begin_change();
  check_may_change(place, path);
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
  folder.make_new(path);
  return {{"path", path}};
}

Json delete_to_bin(Workplace& place, const Request& request) {
  const std::string path = text_in(request.body(), "path");
  check_exists(place.folder, path);
  const Workplace::Change change = place.begin_change();
  check_may_change(place, path);
  return {{"name", move_to_bin(place.folder, path)}};
}

}  // namespace

Routes file_routes(Workplace& place) {
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
      {"POST", "/api/rename", [&](const Request& request) { return json_reply(rename(place, request)); }},
      {"POST", "/api/delete", [&](const Request& request) { return json_reply(delete_to_bin(place, request)); }},
  };
}

}  // namespace cortado::studio
