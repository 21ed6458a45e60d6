#include "server/grpc/messages.h"

#include <cstring>

#include "server/models/description.h"

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
    case Refusal::kConflict:
      return grpc::StatusCode::ALREADY_EXISTS;
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

}  // namespace

grpc::Status status_of(const RequestError& error) { return {code_of(error.why()), error.what()}; }

void check_parameters(const google::protobuf::Map<std::string, inference::ModelRepositoryParameter>& parameters) {
  for (const auto& [name, value] : parameters) check_load_parameter(name);
}

namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;

[[noreturn]] void refuse(const std::string& why) { throw RequestError(Refusal::kInvalid, why); }

/// Converts a time of the system clock to the steady clock.
Clock::time_point steady(std::chrono::system_clock::time_point time) {
  if (time == std::chrono::system_clock::time_point::max()) return Clock::time_point::max();
  return Clock::now() + (time - std::chrono::system_clock::now());
}

std::vector<float> raw_values(const std::string& bytes, int64_t count, const std::string& name) {
  if (bytes.size() != size_t(count) * sizeof(float))
    refuse("input '" + name + "' has " + std::to_string(bytes.size()) + " bytes, but its shape requires " +
           std::to_string(size_t(count) * sizeof(float)));
  std::vector<float> values(static_cast<size_t>(count));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> listed_values(const ModelInferRequest::InferInputTensor& tensor, int64_t count) {
  const auto& values = tensor.contents().fp32_contents();
  if (values.size() != count)
    refuse("input '" + tensor.name() + "' has " + std::to_string(values.size()) + " values in fp32_contents, but its " +
           "shape requires " + std::to_string(count));
  return {values.begin(), values.end()};
}

}  // namespace

void read_inputs(const ModelInferRequest& message, const Version& version, Request& request) {
  const bool is_raw = message.raw_input_contents_size() > 0;
  if (is_raw && message.raw_input_contents_size() != message.inputs_size())
    refuse("there are " + std::to_string(message.inputs_size()) + " inputs, but " +
           std::to_string(message.raw_input_contents_size()) + " raw_input_contents");
  for (int i = 0; i < message.inputs_size(); ++i) {
    const ModelInferRequest::InferInputTensor& tensor = message.inputs(i);
    const TensorSpec* spec = version.input(tensor.name());
    if (!spec) refuse("'" + tensor.name() + "' is not an input of the model");
    if (tensor.datatype() != "FP32")
      refuse("input '" + tensor.name() + "' has datatype " + tensor.datatype() + ", but must be FP32");
    if (request.inputs.contains(tensor.name())) refuse("input '" + tensor.name() + "' is duplicate");
    const std::vector<int64_t> dims(tensor.shape().begin(), tensor.shape().end());
    version.check_shape(*spec, dims);
    Array array{Shape(dims), {}};
    array.values = is_raw ? raw_values(message.raw_input_contents(i), array.shape.count(), tensor.name())
                          : listed_values(tensor, array.shape.count());
    request.inputs[tensor.name()] = std::move(array);
  }
  for (const auto& output : message.outputs()) {
    if (output.parameters().contains("classification")) refuse("classification is not supported");
    request.outputs.push_back(output.name());
  }
}

namespace {

/// Outputs are sent as raw bytes, like Triton's, unless the request has its inputs as numbers.
void write_answer(const ModelInferRequest& message, const Version& version, const Arrays& outputs,
                  ModelInferResponse& response) {
  response.set_model_name(version.model());
  response.set_model_version(version.number());
  response.set_id(message.id());
  for (const auto& [name, array] : outputs) {
    auto& tensor = *response.add_outputs();
    tensor.set_name(name);
    tensor.set_datatype("FP32");
    for (const int64_t dim : array.shape.dims()) tensor.add_shape(dim);
    if (message.raw_input_contents_size() > 0)
      response.add_raw_output_contents(array.values.data(), array.values.size() * sizeof(float));
    else
      tensor.mutable_contents()->mutable_fp32_contents()->Add(array.values.begin(), array.values.end());
  }
}

/// Deletes itself after gRPC has sent the answer.
class InferCall : public grpc::ServerUnaryReactor {
 public:
  void start(Repository& repository, http::MemoryBudget& budget, const grpc::CallbackServerContext& context,
             const ModelInferRequest& message, ModelInferResponse& response, const std::function<void()>& check) {
    try {
      check();
      const std::shared_ptr<void> memory = budget.take(int64_t(message.ByteSizeLong()));
      repository.submit(message.model_name(), message.model_version(), [&](const std::shared_ptr<Version>& version) {
        RequestPtr request = request_for(version, message, response);
        request->deadline = steady(context.deadline());
        request->memory = memory;
        return request;
      });
    } catch (...) {
      Finish(status_of(current_request_error()));
    }
  }

 private:
  RequestPtr request_for(const std::shared_ptr<Version>& version, const ModelInferRequest& message,
                         ModelInferResponse& response) {
    auto request = std::make_shared<Request>();
    read_inputs(message, *version, *request);
    request->client_is_gone = cancelled_;
    request->done = [this, version, &message, &response](Outcome outcome) {
      if (const auto* error = std::get_if<RequestError>(&outcome.result)) return Finish(status_of(*error));
      write_answer(message, *version, std::get<Arrays>(outcome.result), response);
      Finish(grpc::Status::OK);
    };
    return request;
  }

  void OnCancel() override { *cancelled_ = true; }
  void OnDone() override { delete this; }

  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

grpc::ServerUnaryReactor* start_infer(Repository& repository, http::MemoryBudget& budget,
                                      const grpc::CallbackServerContext& context, const ModelInferRequest& request,
                                      ModelInferResponse& response, const std::function<void()>& check) {
  auto* const call = new InferCall;
  call->start(repository, budget, context, request, response, check);
  return call;
}

}  // namespace cortado::server
