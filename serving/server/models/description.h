#pragma once

// What is told of the server and its models, whatever the protocol: gRPC sends these messages, REST writes them as
// JSON.

#include "server/models/inference.pb.h"
#include "server/models/repository.h"

namespace cortado::server {

inference::ServerMetadataResponse metadata_of_server();
inference::ModelMetadataResponse metadata_of(const Version& version);
inference::ModelConfig config_of(const Version& version);
inference::ModelStatisticsResponse statistics_of(const std::vector<std::shared_ptr<Version>>& versions);
inference::RepositoryIndexResponse index_of(const std::vector<ModelState>& models, bool ready_only);

/// Throws RequestError for a parameter of a request to load that would change what is loaded: files and configurations
/// come from the server's own folder alone.
void check_load_parameter(const std::string& name);

}  // namespace cortado::server
