#pragma once

#include <functional>

#include "http/memory_budget.h"
#include "server/models/inference.grpc.pb.h"
#include "server/models/repository.h"

namespace cortado::server {

/// Takes what the message asks for into `request`. Throws RequestError(kInvalid).
void read_inputs(const inference::ModelInferRequest& message, const Version& version, Request& request);

/// Begins one inference; `check` runs first and may throw. The answer follows when the batch is computed, unless the
/// client cancels or its deadline passes before.
grpc::ServerUnaryReactor* start_infer(Repository& repository, http::MemoryBudget& budget,
                                      const grpc::CallbackServerContext& context,
                                      const inference::ModelInferRequest& request,
                                      inference::ModelInferResponse& response, const std::function<void()>& check);

}  // namespace cortado::server
