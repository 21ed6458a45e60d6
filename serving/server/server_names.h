#pragma once

// What the server says of itself, whatever the protocol.

#include <array>

#include "http/message.h"

namespace cortado::server {

constexpr const char* kServerName = "cortado";
constexpr const char* kPlatform = "cortado";
inline constexpr std::array kServerExtensions = {"model_repository", "model_repository(unload_dependents)",
                                                 "model_configuration", "statistics", "binary_tensor_data"};

// What the server takes from http/ by its short name: refusals, whatever the protocol, and HTTP's requests and answers.

using http::Call;
using http::current_request_error;
using http::Handler;
using http::Head;
using http::Refusal;
using http::Reply;
using http::reply_of;
using http::RequestError;

}  // namespace cortado::server
