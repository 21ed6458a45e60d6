#pragma once

// JSON of strangers: depth, number and length of what it holds are bounded before memory is taken. Arrays of numbers
// that are called "data" become floats at once instead of a tree of a node for each.

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace cortado::server {

struct ParsedJson {
  nlohmann::json tree;                   ///< in which "data" is an index into `data`
  std::vector<std::vector<float>> data;  ///< the numbers in row-major order, however they were nested
};

/// Throws RequestError(kInvalid), with the place, for what is no JSON or has too much in it.
ParsedJson parse_bounded(std::string_view text);

}  // namespace cortado::server
