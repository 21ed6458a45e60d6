#include "server/grpc/messages.h"

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

}  // namespace cortado::server
