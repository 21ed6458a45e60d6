#pragma once

// What is told of the server and its models, in the protocol's messages.

#include <grpcpp/support/status.h>

#include "server/grpc/inference.pb.h"
#include "server/models/repository.h"

namespace cortado::server {

grpc::Status status_of(const RequestError& error);

void write_metadata(inference::ServerMetadataResponse& out);
void write_metadata(const Version& version, inference::ModelMetadataResponse& out);
void write_config(const Version& version, inference::ModelConfig& out);
void write_statistics(const Version& version, inference::ModelStatistics& out);
void write_index(const std::vector<ModelState>& models, bool ready_only, inference::RepositoryIndexResponse& out);

/// Throws RequestError for parameters that would change what is loaded.
void check_parameters(const google::protobuf::Map<std::string, inference::ModelRepositoryParameter>& parameters);

}  // namespace cortado::server
