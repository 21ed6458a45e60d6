#pragma once

// What is told of the server and its models, in the protocol's JSON.

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "server/models/repository.h"

namespace cortado::server {

nlohmann::ordered_json server_metadata_json();
nlohmann::ordered_json metadata_json(const Version& version);
nlohmann::ordered_json config_json(const Version& version);
nlohmann::ordered_json statistics_json(const std::vector<std::shared_ptr<Version>>& versions);
nlohmann::ordered_json index_json(const std::vector<ModelState>& models, bool ready_only);

/// What a net saw in an image: {"model", "milliseconds", "top": [...]}, or "objects" in the place of "top".
nlohmann::ordered_json seen_json(const Version& version, const Arrays& outputs, Clock::duration took);

/// The member "ready" of a request for the index. Throws RequestError.
bool wants_ready_only(std::string_view body);

/// Throws RequestError for parameters that would change what is loaded: files and configurations come from the server's
/// own folder alone.
void check_load_parameters(std::string_view body);

}  // namespace cortado::server
