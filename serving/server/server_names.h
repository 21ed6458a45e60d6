#pragma once

// What the server says of itself, whatever the protocol.

#include <array>

namespace cortado::server {

constexpr const char* kServerName = "cortado";
constexpr const char* kPlatform = "cortado";
constexpr std::array kServerExtensions = {"model_repository", "model_repository(unload_dependents)",
                                          "model_configuration", "statistics", "binary_tensor_data"};

}  // namespace cortado::server
