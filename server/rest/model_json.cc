#include "server/rest/model_json.h"

#include "server/rest/bounded_json.h"
#include "server/server_names.h"

namespace cortado::server {

namespace {

using Json = nlohmann::ordered_json;

Json duration_json(const Duration& duration) { return {{"count", duration.count}, {"ns", duration.ns}}; }

Json specs_json(const std::vector<TensorSpec>& specs) {
  Json list = Json::array();
  for (const TensorSpec& spec : specs)
    list.push_back({{"name", spec.name}, {"datatype", "FP32"}, {"shape", spec.dims}});
  return list;
}

/// Of the configuration, whose extents leave out that of the rows.
Json dims_json(const std::vector<TensorSpec>& specs, bool has_rows) {
  Json list = Json::array();
  for (const TensorSpec& spec : specs)
    list.push_back({{"name", spec.name},
                    {"data_type", "TYPE_FP32"},
                    {"dims", std::vector<int64_t>(spec.dims.begin() + has_rows, spec.dims.end())}});
  return list;
}

Json batch_json(int64_t rows, const BatchCounts& counts) {
  return {{"batch_size", rows},
          {"compute_input", duration_json(counts.input)},
          {"compute_infer", duration_json(counts.infer)},
          {"compute_output", duration_json(counts.output)}};
}

Json statistics_of(const Version& version) {
  const ModelCounts counts = version.statistics().counts();
  Json batches = Json::array();
  for (const auto& [rows, batch] : counts.batch_rows) batches.push_back(batch_json(rows, batch));
  return {{"name", version.model()},
          {"version", version.number()},
          {"last_inference", counts.last_inference},
          {"inference_count", counts.inferences},
          {"execution_count", counts.executions},
          {"inference_stats",
           {{"success", duration_json(counts.success)},
            {"fail", duration_json(counts.fail)},
            {"queue", duration_json(counts.queue)},
            {"compute_input", duration_json(counts.compute.input)},
            {"compute_infer", duration_json(counts.compute.infer)},
            {"compute_output", duration_json(counts.compute.output)}}},
          {"batch_stats", batches}};
}

nlohmann::json object_in(std::string_view body) {
  if (body.empty()) return nlohmann::json::object();
  nlohmann::json tree = parse_bounded(body).tree;
  if (!tree.is_object()) throw RequestError(Refusal::kInvalid, "the request is no JSON object");
  return tree;
}

}  // namespace

Json server_metadata_json() {
  return {{"name", kServerName}, {"version", CORTADO_VERSION}, {"extensions", kServerExtensions}};
}

Json metadata_json(const Version& version) {
  return {{"name", version.model()},
          {"versions", {version.number()}},
          {"platform", kPlatform},
          {"inputs", specs_json(version.inputs())},
          {"outputs", specs_json(version.outputs())}};
}

Json config_json(const Version& version) {
  const bool has_rows = version.max_rows() > 0;
  Json config = {{"name", version.model()},
                 {"platform", kPlatform},
                 {"backend", kPlatform},
                 {"version_policy", {{"latest", {{"num_versions", 1}}}}},
                 {"max_batch_size", version.max_rows()},
                 {"input", dims_json(version.inputs(), has_rows)},
                 {"output", dims_json(version.outputs(), has_rows)}};
  if (has_rows) config["dynamic_batching"] = {{"max_queue_delay_microseconds", version.max_delay().count()}};
  return config;
}

Json statistics_json(const std::vector<std::shared_ptr<Version>>& versions) {
  Json list = Json::array();
  for (const auto& version : versions) list.push_back(statistics_of(*version));
  return {{"model_stats", list}};
}

Json index_json(const std::vector<ModelState>& models, bool ready_only) {
  Json list = Json::array();
  for (const ModelState& model : models) {
    if (ready_only && !model.ready) continue;
    Json one = {{"name", model.name}, {"version", model.version}, {"state", model.ready ? "READY" : "UNAVAILABLE"}};
    if (!model.reason.empty()) one["reason"] = model.reason;
    list.push_back(one);
  }
  return list;
}

Json seen_json(const Version& version, const Arrays& outputs, Clock::duration took) {
  const ImageReader& reader = *version.image_reader();
  Json list = Json::array();
  for (const Seen& seen : reader.seen(outputs.at(reader.output()))) {
    Json one = {{"label", seen.label}, {"name", seen.name}};
    one[reader.finds_objects() ? "score" : "probability"] = seen.score;
    if (reader.finds_objects()) one["box"] = {seen.box.x0, seen.box.y0, seen.box.x1, seen.box.y1};
    list.push_back(one);
  }
  return {{"model", version.model()},
          {"version", version.number()},
          {"milliseconds", std::chrono::duration<double, std::milli>(took).count()},
          {reader.finds_objects() ? "objects" : "top", list}};
}

bool wants_ready_only(std::string_view body) {
  const nlohmann::json request = object_in(body);
  const auto ready = request.find("ready");
  if (ready == request.end()) return false;
  if (!ready->is_boolean()) throw RequestError(Refusal::kInvalid, "ready is no boolean");
  return ready->get<bool>();
}

void check_load_parameters(std::string_view body) {
  const nlohmann::json request = object_in(body);
  const auto parameters = request.find("parameters");
  if (parameters == request.end()) return;
  for (const auto& [name, value] : parameters->items())
    if (name != "unload_dependents")
      throw RequestError(Refusal::kInvalid,
                         "parameter '" + name + "': models are loaded as the server's folder has them");
}

}  // namespace cortado::server
