#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cortado::server {

/// What clients are told of an input or an output; its values are always 32-bit floats.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> dims;  ///< -1: any number of rows
};

}  // namespace cortado::server
