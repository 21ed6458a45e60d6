// Datasets: `cortado convert folder` makes them from folders of images; `cortado data stats` reads them; `cortado data
// sheet` shows augmented samples.
#include <filesystem>

#include "core/files/file.h"
#include "core/files/made_folders.h"
#include "core/files/temporary_folder.h"
#include "core/process/program_path.h"
#include "core/text/json.h"
#include "core/text/text.h"
#include "studio/annotation_list.h"
#include "studio/dataset_reports.h"
#include "studio/folder.h"
#include "studio/transform_text.h"
#include "studio/workplace.h"

namespace cortado::studio {

using http::Refusal;
using http::RequestError;

namespace {

constexpr int64_t kDatasetsMostText = 4 << 20;
constexpr size_t kMaxPictures = 200;
constexpr const char* kDatasets = "data";
constexpr const char* kLists = ".studio/lists";  // one for each dataset that is being made: images and annotations
constexpr const char* kRecord = "dataset.json";  // next to the files of `convert`: the source of the dataset

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void add_dataset(const Folder& folder, const std::string& path, Json& list) {
  if (!folder.has(path + "/train_lmdb/data.mdb")) return;
  Json dataset = {{"path", path}, {"labels", Json::array()}};
  if (folder.has(path + "/labels.txt"))
    dataset["labels"] = lines_of(folder.read(path + "/labels.txt", kDatasetsMostText));
  if (folder.has(path + "/" + kRecord))
    dataset["made"] = parse_json_or_null<Json>(folder.read(path + "/" + kRecord, kDatasetsMostText));
  list.push_back(dataset);
}

/// A dataset that cannot be read has a "problem" instead.
void add_if_readable(const Folder& folder, const std::string& path, Json& list) {
  try {
    add_dataset(folder, path, list);
  } catch (const RequestError& error) {
    list.push_back({{"path", path}, {"problem", error.what()}});
  }
}

/// Datasets are searched in data/, in data/NAME (where the studio puts them), and in other folders.
Json datasets(const Folder& folder) {
  Json list = Json::array();
  const auto add_all_in = [&](const std::string& path) {
    const std::string begin = path.empty() ? "" : path + "/";
    for (const Entry& entry : folder.list(path))
      if (entry.is_folder) add_if_readable(folder, begin + entry.name, list);
  };
  add_all_in("");
  if (!folder.has(kDatasets)) return list;
  try {
    add_all_in(kDatasets);
    for (const auto& [name, kind] : folder.odd_entries(kDatasets))
      list.push_back({{"path", std::string(kDatasets) + "/" + name}, {"problem", "this is " + kind}});
  } catch (const RequestError& error) {
    list.push_back({{"path", kDatasets}, {"problem", error.what()}});
  }
  return list;
}

std::string share_text(double share) {
  if (!(share > 0 && share < 1)) throw RequestError(Refusal::kInvalid, "split must be between 0 and 1");
  return std::to_string(share);
}

int side_of(const Json& body) {
  const double side = number_in(body, "side", 0);
  if (!(side >= 1 && side <= 4096)) throw RequestError(Refusal::kInvalid, "side must be in [1, 4096]");
  return int(side);
}

/// The subcommand of `cortado convert` and its operands. For images with boxes these are their folder, and COCO's file
/// or the file `list`, for which this sets `text`.
std::vector<std::string> inputs_for(const Folder& folder, const Json& body, const std::string& source,
                                    const std::string& list, std::string& text) {
  const std::string kind = text_in(body, "kind", "classes");
  if (kind == "classes") return {"folder", folder.at(source)};
  if (kind != "boxes") throw RequestError(Refusal::kInvalid, "kind must be classes or boxes");
  for (const Entry& entry : folder.list(source)) {
    if (entry.is_folder || !entry.name.ends_with(".json")) continue;
    const std::string images = folder.has(source + "/images") ? source + "/images" : source;
    return {"annoset", folder.at(images) + "/", folder.at(source + "/" + entry.name)};
  }
  text = list_annotations(folder, source).text;
  return {"annoset", folder.at(source) + "/", folder.at(list)};
}

/// `inputs`: the subcommand and its operands.
std::vector<std::string> convert_words(const Json& body, const std::vector<std::string>& inputs,
                                       const std::string& output) {
  std::vector<std::string> words = {"convert"};
  words.insert(words.end(), inputs.begin(), inputs.end());
  for (const std::string& flag : {"--output=" + output, std::string("--json"), std::string("--progress"),
                                  "--split=" + share_text(number_in(body, "split", 0.2))})
    words.push_back(flag);
  const std::string resize = text_in(body, "resize", "square");
  if (resize == "square") {
    const std::string side = std::to_string(side_of(body));
    words.push_back("--resize-height=" + side);
    words.push_back("--resize-width=" + side);
  } else if (resize == "short") {
    words.push_back("--short-side=" + std::to_string(side_of(body)));
  } else if (resize != "none") {
    throw RequestError(Refusal::kInvalid, "resize must be square, short or none");
  }
  for (const char* flag : {"gray", "encoded", "skip-bad"})
    if (flag_in(body, flag, false)) words.push_back(std::string("--") + flag);
  return words;
}

/// One dataset, with its report if it was read since it was changed.
Json dataset(const Workplace& place, const DatasetReports& reports, const Request& request) {
  const std::string path = request.parameter("path");
  Json list = Json::array();
  add_dataset(place.folder, path, list);
  if (list.empty()) throw RequestError(Refusal::kNotFound, "'" + path + "' is not a dataset");
  list[0]["sets"] = Json::array();
  for (const DatasetSet& set : sets_of(place.folder, path))
    list[0]["sets"].push_back({{"name", set.name}, {"bytes", set.bytes}, {"changed", set.changed}});
  list[0].update(reports.json(place.folder, path));
  return list[0];
}

/// Small pictures of records: of given keys, and the first ones.
Json pictures(const Workplace& place, const Request& request) {
  const Json body = request.body();
  const std::string path = text_in(body, "path"), set = text_in(body, "set");
  const std::vector<std::string> keys = texts_in(body, "keys");
  const int64_t first = std::clamp<int64_t>(int64_t(number_in(body, "first", 0)), 0, kMaxPictures);
  if (keys.size() > kMaxPictures) throw RequestError(Refusal::kTooLarge, "more than 200 pictures in one request");
  const std::vector<DatasetSet> sets = sets_of(place.folder, path);
  const auto found = std::ranges::find(sets, set, &DatasetSet::name);
  if (found == sets.end()) throw RequestError(Refusal::kNotFound, "'" + path + "' has no set '" + set + "'");
  const TemporaryFolder temporary(kTemporaryName);
  const ChildResult result =
      run_child({program_path(), "records", place.folder.at(found->path),
                 "--keys=" + temporary.add("keys.json", dump(keys)), "--first=" + std::to_string(first)},
                {.folder = place.folder.root()});
  if (result.code != 0) throw RequestError(Refusal::kInvalid, plain_message(result.err));
  return parse_json_or_null<Json>(result.out);
}

/// Removes what a killed studio left of the dataset whose list this was, unless it is being made.
void remove_unfinished_dataset(const Folder& folder, const std::string& name) {
  const std::string list = std::string(kLists) + "/" + name + ".txt", path = folder.at("data/" + name);
  const Descriptor lock = lock_if_free(folder.at(list));
  if (!lock.ok()) return;
  remove_leftovers(path);
  remove_leftovers(path + "/" + kRecord);
  folder.remove(list);
}

/// A dataset that is being made: its name is claimed, and its list exists and is locked.
class DatasetInWork {
 public:
  DatasetInWork(Workplace& place, const std::string& name, const std::string& list, const std::string& text)
      : folder_(place.folder), list_(list), claim_(place.claims.claim("data/" + name)) {
    folder_.make(kLists);
    if (folder_.has(list)) remove_unfinished_dataset(folder_, name);
    lock_ = folder_.write_new(list, text);
  }
  ~DatasetInWork() { end(); }
  DatasetInWork(const DatasetInWork&) = delete;
  DatasetInWork& operator=(const DatasetInWork&) = delete;

  void end() {
    std::error_code ignored;
    if (lock_.ok()) std::filesystem::remove(folder_.root() + "/" + list_, ignored);
    lock_ = Descriptor();
    claim_.reset();
  }

 private:
  const Folder& folder_;
  std::string list_;
  std::shared_ptr<void> claim_;
  Descriptor lock_;
};

Json make_dataset(Workplace& place, const Request& request) {
  const Json body = request.body();
  const std::string name = checked_name(text_in(body, "name")), path = "data/" + name;
  const std::string source = text_in(body, "source");
  if (!place.folder.has(source)) throw RequestError(Refusal::kNotFound, source + ": no such folder");
  if (place.folder.has(path)) throw RequestError(Refusal::kConflict, "dataset " + name + " exists already");
  place.folder.make("data");
  const std::string list = std::string(kLists) + "/" + name + ".txt", whole = place.folder.at(path);
  std::vector<std::string> words = {place.cortado};
  std::string text;
  for (std::string& word : convert_words(body, inputs_for(place.folder, body, source, list, text), path))
    words.push_back(std::move(word));
  const auto made = std::make_shared<DatasetInWork>(place, name, list, text);
  const int64_t job = place.jobs.start(
      {.title = "dataset " + name,
       .words = words,
       .folder = place.folder.root(),
       .done =
           [=](const ChildResult& result) {
             write_file_atomically(whole + "/" + kRecord, dump({{"source", source},
                                                                {"split", number_in(body, "split", 0.2)},
                                                                {"report", parse_json_or_null<Json>(result.out)}}));
             made->end();
           },
       .clean_up = [=](pid_t process) {  // its temporary files
         std::error_code ignored;
         std::filesystem::remove_all(whole + ".tmp." + std::to_string(process), ignored);
         made->end();
       }});
  return {{"job", job}, {"path", path}};
}

/// A sheet of augmented samples, and the transform as prototxt.
Json sheet(const Workplace& place, const Request& request) {
  const Json body = request.body();
  const std::string path = text_in(body, "path"), transform = transform_text(body.value("transform", Json::object()));
  const std::string source = place.folder.at(path + "/train_lmdb");
  const int64_t count = std::clamp<int64_t>(int64_t(number_in(body, "count", 32)), 1, 200);
  const TemporaryFolder temporary(kTemporaryName);
  const std::string type = place.folder.has(path + "/labelmap.prototxt") ? "type: \"AnnotatedData\"" : "type: \"Data\"";
  const std::string net = "layer {\n  name: \"data\" " + type + " top: \"data\" top: \"label\"\n" + transform +
                          "  data_param { source: \"" + source + "\" batch_size: " + std::to_string(count) +
                          " backend: LMDB }\n}\n";
  std::vector<std::string> words = {"data",
                                    "sheet",
                                    temporary.add("net.prototxt", net),
                                    "--output=" + temporary.path("sheet.png"),
                                    "--count=" + std::to_string(count),
                                    "--columns=" + std::to_string(int64_t(number_in(body, "columns", 8))),
                                    "--at-epoch=" + std::to_string(int64_t(number_in(body, "epoch", 0)))};
  if (place.folder.has(path + "/labels.txt")) words.push_back("--labels=" + place.folder.at(path + "/labels.txt"));
  place.run(words);
  return {{"png", base64(read_file(temporary.path("sheet.png")))}, {"transform", transform}};
}

}  // namespace

void remove_unfinished_datasets(const Folder& folder) {
  constexpr std::string_view kList = ".txt";
  if (!folder.has(kLists)) return;
  for (const Entry& entry : folder.list_if_readable(kLists))
    if (entry.name.ends_with(kList))
      remove_unfinished_dataset(folder, entry.name.substr(0, entry.name.size() - kList.size()));
}

Routes dataset_routes(Workplace& place) {
  const auto reports = std::make_shared<DatasetReports>();
  return {
      {"GET", "/api/dataset",
       [&place, reports](const Request& request) { return json_reply(dataset(place, *reports, request)); }},
      {"POST", "/api/dataset/read",
       [&place, reports](const Request& request) {
         return json_reply({{"job", DatasetReports::read(reports, place, text_in(request.body(), "path"))}});
       }},
      {"POST", "/api/dataset/pictures", [&](const Request& request) { return json_reply(pictures(place, request)); }},
      {"GET", "/api/datasets", [&](const Request&) { return json_reply(datasets(place.folder)); }},
      {"POST", "/api/datasets", [&](const Request& request) { return json_reply(make_dataset(place, request)); }},
      {"POST", "/api/sheet", [&](const Request& request) { return json_reply(sheet(place, request)); }},
      {"GET", "/api/jobs", [&](const Request&) { return json_reply(place.jobs.json_of_all()); }},
      {"GET", "/api/job", [&](const Request& request) { return json_reply(place.jobs.json(request.number("id", 0))); }},
      {"POST", "/api/job/stop",
       [&](const Request& request) {
         place.jobs.stop(int64_t(number_in(request.body(), "id", 0)));
         return json_reply(Json::object());
       }},
  };
}

}  // namespace cortado::studio
