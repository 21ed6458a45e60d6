#pragma once

// Converts errors to the protocol's status codes, and reads its requests.

#include <grpcpp/support/status.h>

#include <functional>

#include "http/memory_budget.h"
#include "server/models/inference.grpc.pb.h"
#include "server/models/inference.pb.h"
#include "server/models/repository.h"
#include "server/server_names.h"

namespace cortado::server {

grpc::Status status_of(const RequestError& error);

/// Throws RequestError for parameters that would change which files are loaded.
void check_parameters(const google::protobuf::Map<std::string, inference::ModelRepositoryParameter>& parameters);

/// Reads inputs and requested outputs of the message into `request`. Throws RequestError(kInvalid).
void read_inputs(const inference::ModelInferRequest& message, const Version& version, Request& request);

/// Starts one inference; `check` runs first and may throw. The answer is sent when the batch is computed, unless the
/// client cancels or its deadline passes before.
grpc::ServerUnaryReactor* start_infer(Repository& repository, http::MemoryBudget& budget,
                                      const grpc::CallbackServerContext& context,
                                      const inference::ModelInferRequest& request,
                                      inference::ModelInferResponse& response, const std::function<void()>& check);

}  // namespace cortado::server
