#pragma once

// Metadata of the server and its models in the protocol's JSON.

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "server/models/repository.h"

namespace cortado::server {

/// Converts a description (server/models/description.h) to JSON; unset fields are omitted.
nlohmann::ordered_json json_of(const google::protobuf::Message& message);

/// The result for an image: {"model", "milliseconds", "top": [...]}, or "objects" instead of "top".
nlohmann::ordered_json seen_json(const Version& version, const Arrays& outputs, Clock::duration took);

/// The member "ready" of an index request. Throws RequestError.
bool wants_ready_only(std::string_view body);

/// Calls check_load_parameter() for the parameters of a load request.
void check_load_parameters(std::string_view body);

// Untrusted JSON: depth, number and size of values are bounded before memory is allocated. Arrays of numbers named
// "data" are parsed directly to floats, without a tree node for each.

struct ParsedJson {
  nlohmann::json tree;                   ///< in which "data" is an index into `data`
  std::vector<std::vector<float>> data;  ///< flattened in row-major order
};

/// Throws RequestError(kInvalid) with the byte offset if it is invalid or exceeds a limit.
ParsedJson parse_bounded(std::string_view text);

}  // namespace cortado::server
