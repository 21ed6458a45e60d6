#include "tools/runs/run_record.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text/json.h"
#include "tools/runs/run_file.h"

namespace cortado::runs {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr int64_t kMaxBytes = 16 << 20;

Json json_of(const InputFile& input) {
  return {{"kind", input.kind}, {"path", input.path}, {"bytes", input.bytes}, {"digest", input.digest}};
}

Json json_of(const Start& start) {
  return {{"t", start.time}, {"pid", start.process}, {"from", start.from}, {"set", start.set}};
}

InputFile input_of(const Json& json) { return {json.at("path"), json.at("kind"), json.at("bytes"), json.at("digest")}; }

Start start_of(const Json& json) { return {json.at("t"), json.at("pid"), json.at("from"), json.at("set")}; }

template <typename Item>
Json list_of(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(json_of(item));
  return list;
}

RunRecord record_of(const Json& json) {
  RunRecord record;
  json.at("id").get_to(record.id);
  json.at("created").get_to(record.created);
  json.at("folder").get_to(record.folder);
  json.at("solver").get_to(record.solver);
  json.at("command").get_to(record.command);
  json.at("flags").get_to(record.flags);
  json.at("weights").get_to(record.weights);
  json.at("version").get_to(record.version);
  json.at("machine").get_to(record.machine);
  for (const Json& input : json.at("inputs")) record.inputs.push_back(input_of(input));
  if (json.contains("shapes")) json.at("shapes").get_to(record.shapes);
  for (const Json& start : json.at("starts")) record.starts.push_back(start_of(start));
  return record;
}

}  // namespace

void write_record(const std::string& path, const RunRecord& record) {
  const Json json = {{"schema", kSchema},
                     {"id", record.id},
                     {"created", record.created},
                     {"folder", record.folder},
                     {"solver", record.solver},
                     {"command", record.command},
                     {"flags", record.flags},
                     {"weights", record.weights},
                     {"version", record.version},
                     {"machine", record.machine},
                     {"inputs", list_of(record.inputs)},
                     {"shapes", record.shapes},
                     {"starts", list_of(record.starts)}};
  write_run_file(path, dumped_json(json, 2) + "\n");
}

RunRecord read_record(const std::string& path) {
  try {
    return record_of(parse_json<Json>(read_run_file(path, kMaxBytes)));
  } catch (const JsonError& error) {
    throw Error(ExitCode::kUsage, path + " is not the record of a run: " + error.what());
  } catch (const Json::exception& error) {
    throw Error(ExitCode::kUsage, path + " is not the record of a run: " + json_reason(error.what()));
  }
}

}  // namespace cortado::runs
