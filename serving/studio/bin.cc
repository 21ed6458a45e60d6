// The bin: what was deleted, each with the path from which it came. It can be restored, or deleted for good.
#include "studio/bin.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>

#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "core/text/json.h"
#include "studio/workplace.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr std::string_view kOrigin = ".json";  // NAME.json in the bin has the path from which NAME came
constexpr int64_t kMaxOrigin = 1 << 16;

std::string item_path(const std::string& name) { return std::string(kBin) + "/" + name; }
std::string origin_path(const std::string& name) { return item_path(name) + std::string(kOrigin); }

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

/// Its origin as {"path", "deleted"}, or null.
Json origin_of(const Folder& folder, const std::string& name) {
  if (name.find('/') != std::string::npos || !folder.has(item_path(name)) || !folder.has(origin_path(name)))
    return nullptr;
  try {
    const Json origin = parse_json_or_null<Json>(folder.read(origin_path(name), kMaxOrigin));
    return origin.is_object() && origin.contains("path") && origin["path"].is_string() ? origin : Json();
  } catch (const RequestError&) {  // restored meanwhile
    return nullptr;
  }
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

/// A studio that starts just now may have removed it.
void remove_origin(const Folder& folder, const std::string& name) {
  std::error_code ignored;
  std::filesystem::remove(folder.at(origin_path(name)), ignored);
}

Json restore(Workplace& place, const Request& request) {
  const Folder& folder = place.folder;
  const std::lock_guard lock(place.taking_from_bin);
  const std::string name = name_in_bin(folder, request), path = text_in(origin_of(folder, name), "path");
  if (folder.has(path)) throw RequestError(Refusal::kConflict, path + " exists already; rename it first");
  folder.make(folder_of(path));
  folder.move(item_path(name), path);
  remove_origin(folder, name);
  return {{"path", path}};
}

Json delete_for_good(Workplace& place, const Request& request) {
  const Folder& folder = place.folder;
  const std::lock_guard lock(place.taking_from_bin);
  const std::string name = name_in_bin(folder, request);
  folder.remove(item_path(name));
  remove_origin(folder, name);
  return {{"name", name}};
}

/// Writes the origin of a new item. Returns the file, locked for remove_origins_without_items(), and sets its name.
Descriptor begin_item(const Folder& folder, const std::string& path, std::string& name) {
  const std::string origin = dump({{"path", path}, {"deleted", int64_t(::time(nullptr))}});
  for (int i = 1;; ++i) {
    name = bin_name(file_name_of(path)) + (i == 1 ? "" : "-" + std::to_string(i));
    try {
      return folder.write_new(origin_path(name), origin);
    } catch (const RequestError& error) {
      if (error.why() != Refusal::kConflict) throw;
    }
  }
}

}  // namespace

std::string move_to_bin(const Folder& folder, const std::string& path) {
  folder.make(kBin);
  std::string name;
  const Descriptor origin = begin_item(folder, path, name);
  try {
    folder.move(path, item_path(name));
  } catch (...) {
    remove_origin(folder, name);
    throw;
  }
  return name;
}

void remove_origins_without_items(const Folder& folder) {
  if (!folder.has(kBin)) return;
  for (const Entry& entry : folder.list_if_readable(kBin)) {
    const std::string path = item_path(entry.name);
    if (entry.is_folder || !entry.name.ends_with(kOrigin) || folder.has(origin_path(entry.name))) continue;
    if (!folder.has(path.substr(0, path.size() - kOrigin.size()))) remove_unless_locked(folder.at(path));
  }
}

Routes bin_routes(Workplace& place) {
  return {
      {"GET", "/api/bin", [&](const Request&) { return json_reply(bin(place.folder)); }},
      {"POST", "/api/bin/restore", [&](const Request& request) { return json_reply(restore(place, request)); }},
      {"POST", "/api/bin/delete", [&](const Request& request) { return json_reply(delete_for_good(place, request)); }},
  };
}

}  // namespace cortado::studio
