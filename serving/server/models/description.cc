#include "server/models/description.h"

#include "server/server_names.h"

namespace cortado::server {

namespace {

void describe(const Duration& duration, inference::StatisticDuration& out) {
  out.set_count(duration.count);
  out.set_ns(duration.ns);
}

template <typename Message>
void describe(const BatchCounts& counts, Message& out) {
  describe(counts.input, *out.mutable_compute_input());
  describe(counts.infer, *out.mutable_compute_infer());
  describe(counts.output, *out.mutable_compute_output());
}

void describe(const TensorSpec& spec, inference::ModelMetadataResponse::TensorMetadata& out) {
  out.set_name(spec.name);
  out.set_datatype("FP32");
  for (const int64_t dim : spec.dims) out.add_shape(dim);
}

/// Writes tensors of the configuration, whose shapes omit the extent of the rows.
template <typename Message>
void describe_inner(const TensorSpec& spec, bool has_rows, Message& out) {
  out.set_name(spec.name);
  out.set_data_type(inference::TYPE_FP32);
  for (size_t i = has_rows; i < spec.dims.size(); ++i) out.add_dims(spec.dims[i]);
}

void describe(const Version& version, inference::ModelStatistics& out) {
  const ModelCounts counts = version.statistics().counts();
  out.set_name(version.model());
  out.set_version(version.number());
  out.set_last_inference(counts.last_inference);
  out.set_inference_count(counts.inferences);
  out.set_execution_count(counts.executions);
  inference::InferStatistics& requests = *out.mutable_inference_stats();
  describe(counts.success, *requests.mutable_success());
  describe(counts.fail, *requests.mutable_fail());
  describe(counts.queue, *requests.mutable_queue());
  describe(counts.compute, requests);
  for (const auto& [rows, batch] : counts.batch_rows) {
    inference::InferBatchStatistics& one = *out.add_batch_stats();
    one.set_batch_size(uint64_t(rows));
    describe(batch, one);
  }
}

}  // namespace

inference::ServerMetadataResponse metadata_of_server() {
  inference::ServerMetadataResponse out;
  out.set_name(kServerName);
  out.set_version(CORTADO_VERSION);
  for (const char* extension : kServerExtensions) out.add_extensions(extension);
  return out;
}

inference::ModelMetadataResponse metadata_of(const Version& version) {
  inference::ModelMetadataResponse out;
  out.set_name(version.model());
  out.add_versions(version.number());
  out.set_platform(kPlatform);
  for (const TensorSpec& spec : version.inputs()) describe(spec, *out.add_inputs());
  for (const TensorSpec& spec : version.outputs()) describe(spec, *out.add_outputs());
  return out;
}

inference::ModelConfig config_of(const Version& version) {
  inference::ModelConfig out;
  const bool has_rows = version.max_rows() > 0;
  out.set_name(version.model());
  out.set_platform(kPlatform);
  out.set_backend(kPlatform);
  out.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  out.set_max_batch_size(int32_t(version.max_rows()));
  for (const TensorSpec& spec : version.inputs()) describe_inner(spec, has_rows, *out.add_input());
  for (const TensorSpec& spec : version.outputs()) describe_inner(spec, has_rows, *out.add_output());
  if (has_rows) out.mutable_dynamic_batching()->set_max_queue_delay_microseconds(uint64_t(version.max_delay().count()));
  return out;
}

inference::ModelStatisticsResponse statistics_of(const std::vector<std::shared_ptr<Version>>& versions) {
  inference::ModelStatisticsResponse out;
  for (const auto& version : versions) describe(*version, *out.add_model_stats());
  return out;
}

inference::RepositoryIndexResponse index_of(const std::vector<ModelState>& models, bool ready_only) {
  inference::RepositoryIndexResponse out;
  for (const ModelState& model : models) {
    if (ready_only && !model.ready) continue;
    auto& one = *out.add_models();
    one.set_name(model.name);
    one.set_version(model.version);
    one.set_state(model.ready ? "READY" : "UNAVAILABLE");
    if (!model.reason.empty()) one.set_reason(model.reason);
  }
  return out;
}

void check_load_parameter(const std::string& name) {
  if (name != "unload_dependents")
    throw RequestError(Refusal::kInvalid,
                       "parameter '" + name + "' is not supported: models are loaded only from the server's folder");
}

}  // namespace cortado::server
