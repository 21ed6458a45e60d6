#pragma once

// Refusals in the protocol's own words, and what its requests say beside their names.

#include <grpcpp/support/status.h>

#include "server/http_names.h"
#include "server/models/inference.pb.h"

namespace cortado::server {

grpc::Status status_of(const RequestError& error);

/// Throws RequestError for parameters that would change what is loaded.
void check_parameters(const google::protobuf::Map<std::string, inference::ModelRepositoryParameter>& parameters);

}  // namespace cortado::server
