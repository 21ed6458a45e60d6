#pragma once

// Refusals in the protocol's own words, and what its requests say beside their names.

#include <grpcpp/support/status.h>

#include <functional>

#include "http/memory_budget.h"
#include "server/models/inference.grpc.pb.h"
#include "server/models/inference.pb.h"
#include "server/models/repository.h"
#include "server/server_names.h"

namespace cortado::server {

grpc::Status status_of(const RequestError& error);

/// Throws RequestError for parameters that would change what is loaded.
void check_parameters(const google::protobuf::Map<std::string, inference::ModelRepositoryParameter>& parameters);

/// Takes what the message asks for into `request`. Throws RequestError(kInvalid).
void read_inputs(const inference::ModelInferRequest& message, const Version& version, Request& request);

/// Begins one inference; `check` runs first and may throw. The answer follows when the batch is computed, unless the
/// client cancels or its deadline passes before.
grpc::ServerUnaryReactor* start_infer(Repository& repository, http::MemoryBudget& budget,
                                      const grpc::CallbackServerContext& context,
                                      const inference::ModelInferRequest& request,
                                      inference::ModelInferResponse& response, const std::function<void()>& check);

}  // namespace cortado::server
