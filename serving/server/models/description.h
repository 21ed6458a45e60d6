#pragma once

// Metadata of the server and its models, independent of the protocol: gRPC sends these messages, REST converts them to
// JSON.

#include "server/models/inference.pb.h"
#include "server/models/repository.h"

namespace cortado::server {

inference::ServerMetadataResponse metadata_of_server();
inference::ModelMetadataResponse metadata_of(const Version& version);
inference::ModelConfig config_of(const Version& version);
inference::ModelStatisticsResponse statistics_of(const std::vector<std::shared_ptr<Version>>& versions);
inference::RepositoryIndexResponse index_of(const std::vector<ModelState>& models, bool ready_only);

/// Throws RequestError for a load parameter that would change which files are loaded: models and configurations come
/// from the server's own folder only.
void check_load_parameter(const std::string& name);

}  // namespace cortado::server
