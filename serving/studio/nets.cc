// Prototxts of nets and solvers: list, read, write, check and draw.
#include "core/files/file.h"
#include "core/files/temporary_folder.h"
#include "core/text/json.h"
#include "studio/folder.h"
#include "studio/workplace.h"
#include "tools/starter/starting_net.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr int64_t kNetsMostText = 2 << 20;
constexpr size_t kMaxFiles = 500;
constexpr int kNetsMostDepth = 3;
constexpr std::string_view kEnding = ".prototxt";

bool is_dataset(const std::string& name) { return name.ends_with("lmdb"); }

void add_texts(const Folder& folder, const std::string& path, int depth, Json& list) {
  for (const Entry& entry : folder.list_if_readable(path)) {
    const std::string whole = (path.empty() ? "" : path + "/") + entry.name;
    if (list.size() >= kMaxFiles) return;
    if (entry.is_folder) {
      if (depth < kNetsMostDepth && !is_dataset(entry.name) && !folder.has(whole + "/run.json"))
        add_texts(folder, whole, depth + 1, list);
    } else if (entry.name.ends_with(kEnding)) {
      list.push_back({{"path", whole}, {"changed", entry.changed}});
    }
  }
}

Json texts(const Workplace& place) {
  Json list = Json::array();
  add_texts(place.folder, "", 0, list);
  return list;
}

Json read_text(const Workplace& place, const Request& request) {
  const std::string path = request.parameter("path"), text = place.folder.read(path, kNetsMostText);
  return {{"path", path}, {"text", text}, {"digest", digest_of(text)}};
}

/// Writes a new file; or replaces one with the given digest, so that nobody's changes are lost.
Json write_text(const Workplace& place, const Request& request) {
  const Json body = request.body();
  const std::string path = text_in(body, "path"), text = text_in(body, "text");
  if (!path.ends_with(kEnding))
    throw RequestError(Refusal::kInvalid, "the file name of a net or solver must end in .prototxt");
  checked_name(file_name_of(path));
  if (int64_t(text.size()) > kNetsMostText) throw RequestError(Refusal::kTooLarge, "the text is larger than 2 MiB");
  if (const std::string digest = text_in(body, "digest"); !digest.empty()) {
    place.folder.replace(path, text, digest);
  } else {
    place.folder.make(folder_of(path));
    place.folder.write_new(path, text);
  }
  return {{"path", path}, {"digest", digest_of(text)}};
}

/// Runs `cortado check` on unsaved text of the file `path`, if it has a name yet. Diagnostics have places in the text.
Json check(const Workplace& place, const Request& request) {
  const Json body = request.body();
  const TemporaryFolder temporary(kTemporaryName);
  const std::string file = temporary.add("text.prototxt", text_in(body, "text")), name = text_in(body, "path", ""),
                    path = name.empty() ? file : place.folder.at(name);
  std::vector<std::string> words = {"check", file, "--as=" + path, "--json", "--cpu"};
  if (!flag_in(body, "data", false)) words.push_back("--no-data");
  const ChildResult result = place.try_run(words, std::chrono::seconds(20));
  Json found = parse_json_or_null<Json>(result.out);
  if (!found.is_array() || found.empty()) throw RequestError(Refusal::kInvalid, plain_message(result.err));
  Json& report = found[0];
  report.erase("file");
  for (const char* list : {"mistakes", "warnings"})
    for (Json& one : report[list])
      if (one.value("file", "") == path) one.erase("file");
  return report;
}

Json draw(const Workplace& place, const Request& request) {
  const Json body = request.body();
  const std::string phase = text_in(body, "phase", "TRAIN");
  if (phase != "TRAIN" && phase != "TEST") throw RequestError(Refusal::kInvalid, "phase must be TRAIN or TEST");
  const TemporaryFolder temporary(kTemporaryName);
  std::vector<std::string> words = {"draw", "--model=" + temporary.add("net.prototxt", text_in(body, "text")),
                                    "--phase=" + phase, "--format=svg", "-"};
  if (flag_in(body, "full", false)) words.push_back("--full");
  return {{"svg", place.run(words, std::chrono::seconds(30)).out}};
}

/// The models of the folder or of the installation, or "".
std::string models_in(const Folder& folder) {
  return folder.has("models") ? folder.at("models") : tools::models_folder();
}

Json models(const Workplace& place) {
  Json list = Json::array();
  const std::string path = models_in(place.folder);
  if (path.empty()) return list;
  const Folder all(path);
  for (const Entry& entry : all.list(""))
    if (entry.is_folder && all.has(entry.name + "/train_val.prototxt")) list.push_back(entry.name);
  return list;
}

Json model_text(const Workplace& place, const Request& request) {
  const std::string path = models_in(place.folder), name = checked_name(request.parameter("name"));
  if (path.empty()) throw RequestError(Refusal::kNotFound, "the folder of models is missing in this installation");
  return {{"name", name}, {"text", Folder(path).read(name + "/train_val.prototxt", kNetsMostText)}};
}

}  // namespace

Routes net_routes(Workplace& place) {
  return {
      {"GET", "/api/texts", [&](const Request&) { return json_reply(texts(place)); }},
      {"GET", "/api/text", [&](const Request& request) { return json_reply(read_text(place, request)); }},
      {"POST", "/api/text", [&](const Request& request) { return json_reply(write_text(place, request)); }},
      {"POST", "/api/check", [&](const Request& request) { return json_reply(check(place, request)); }},
      {"POST", "/api/draw", [&](const Request& request) { return json_reply(draw(place, request)); }},
      {"GET", "/api/models", [&](const Request&) { return json_reply(models(place)); }},
      {"GET", "/api/model", [&](const Request& request) { return json_reply(model_text(place, request)); }},
  };
}

}  // namespace cortado::studio
