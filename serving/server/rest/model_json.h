#pragma once

// What is told of the server and its models, in the protocol's JSON.

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "server/models/repository.h"

namespace cortado::server {

/// A description (server/models/description.h): fields by their names, without those that are left out.
nlohmann::ordered_json json_of(const google::protobuf::Message& message);

/// What a net saw in an image: {"model", "milliseconds", "top": [...]}, or "objects" in the place of "top".
nlohmann::ordered_json seen_json(const Version& version, const Arrays& outputs, Clock::duration took);

/// The member "ready" of a request for the index. Throws RequestError.
bool wants_ready_only(std::string_view body);

/// check_load_parameter() for the parameters of a request to load.
void check_load_parameters(std::string_view body);

// JSON of strangers: depth, number and length of what it holds are bounded before memory is taken. Arrays of numbers
// that are called "data" become floats at once instead of a tree of a node for each.

struct ParsedJson {
  nlohmann::json tree;                   ///< in which "data" is an index into `data`
  std::vector<std::vector<float>> data;  ///< the numbers in row-major order, however they were nested
};

/// Throws RequestError(kInvalid), with the place, for what is no JSON or has too much in it.
ParsedJson parse_bounded(std::string_view text);

}  // namespace cortado::server
