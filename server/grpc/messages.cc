#include "server/grpc/messages.h"

#include "server/server_names.h"

namespace cortado::server {

namespace {

grpc::StatusCode code_of(Refusal why) {
  switch (why) {
    case Refusal::kUnauthorized:
      return grpc::StatusCode::UNAUTHENTICATED;
    case Refusal::kForbidden:
      return grpc::StatusCode::PERMISSION_DENIED;
    case Refusal::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case Refusal::kNoMethod:
      return grpc::StatusCode::UNIMPLEMENTED;
    case Refusal::kInvalid:
    case Refusal::kTooLarge:
    case Refusal::kMediaType:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Refusal::kBusy:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Refusal::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case Refusal::kLate:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case Refusal::kCancelled:
      return grpc::StatusCode::CANCELLED;
    case Refusal::kInternal:
      return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

void write_duration(const Duration& duration, inference::StatisticDuration& out) {
  out.set_count(duration.count);
  out.set_ns(duration.ns);
}

template <typename Message>
void write_compute(const BatchCounts& counts, Message& out) {
  write_duration(counts.input, *out.mutable_compute_input());
  write_duration(counts.infer, *out.mutable_compute_infer());
  write_duration(counts.output, *out.mutable_compute_output());
}

void write_spec(const TensorSpec& spec, inference::ModelMetadataResponse::TensorMetadata& out) {
  out.set_name(spec.name);
  out.set_datatype("FP32");
  for (const int64_t dim : spec.dims) out.add_shape(dim);
}

/// Of the configuration, whose extents leave out that of the rows.
template <typename Message>
void write_dims(const TensorSpec& spec, bool has_rows, Message& out) {
  out.set_name(spec.name);
  out.set_data_type(inference::TYPE_FP32);
  for (size_t i = has_rows; i < spec.dims.size(); ++i) out.add_dims(spec.dims[i]);
}

}  // namespace

grpc::Status status_of(const RequestError& error) { return {code_of(error.why()), error.what()}; }

void write_metadata(inference::ServerMetadataResponse& out) {
  out.set_name(kServerName);
  out.set_version(CORTADO_VERSION);
  for (const char* extension : kServerExtensions) out.add_extensions(extension);
}

void write_metadata(const Version& version, inference::ModelMetadataResponse& out) {
  out.set_name(version.model());
  out.add_versions(version.number());
  out.set_platform(kPlatform);
  for (const TensorSpec& spec : version.inputs()) write_spec(spec, *out.add_inputs());
  for (const TensorSpec& spec : version.outputs()) write_spec(spec, *out.add_outputs());
}

void write_config(const Version& version, inference::ModelConfig& out) {
  const bool has_rows = version.max_rows() > 0;
  out.set_name(version.model());
  out.set_platform(kPlatform);
  out.set_backend(kPlatform);
  out.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  out.set_max_batch_size(int32_t(version.max_rows()));
  for (const TensorSpec& spec : version.inputs()) write_dims(spec, has_rows, *out.add_input());
  for (const TensorSpec& spec : version.outputs()) write_dims(spec, has_rows, *out.add_output());
  if (has_rows) out.mutable_dynamic_batching()->set_max_queue_delay_microseconds(uint64_t(version.max_delay().count()));
}

void write_statistics(const Version& version, inference::ModelStatistics& out) {
  const ModelCounts counts = version.statistics().counts();
  out.set_name(version.model());
  out.set_version(version.number());
  out.set_last_inference(counts.last_inference);
  out.set_inference_count(counts.inferences);
  out.set_execution_count(counts.executions);
  inference::InferStatistics& requests = *out.mutable_inference_stats();
  write_duration(counts.success, *requests.mutable_success());
  write_duration(counts.fail, *requests.mutable_fail());
  write_duration(counts.queue, *requests.mutable_queue());
  write_compute(counts.compute, requests);
  for (const auto& [rows, batch] : counts.batch_rows) {
    inference::InferBatchStatistics& one = *out.add_batch_stats();
    one.set_batch_size(uint64_t(rows));
    write_compute(batch, one);
  }
}

void write_index(const std::vector<ModelState>& models, bool ready_only, inference::RepositoryIndexResponse& out) {
  for (const ModelState& model : models) {
    if (ready_only && !model.ready) continue;
    auto& one = *out.add_models();
    one.set_name(model.name);
    one.set_version(model.version);
    one.set_state(model.ready ? "READY" : "UNAVAILABLE");
    one.set_reason(model.reason);
  }
}

void check_parameters(const google::protobuf::Map<std::string, inference::ModelRepositoryParameter>& parameters) {
  for (const auto& [name, value] : parameters)
    if (name != "unload_dependents")
      throw RequestError(Refusal::kInvalid,
                         "parameter '" + name + "': models are loaded as the server's folder has them");
}

}  // namespace cortado::server
