#pragma once

// The server's name and extensions, independent of the protocol.

#include <array>

#include "http/message.h"

namespace cortado::server {

constexpr const char* kServerName = "cortado";
constexpr const char* kPlatform = "cortado";
inline constexpr std::array kServerExtensions = {"model_repository", "model_repository(unload_dependents)",
                                                 "model_configuration", "statistics", "binary_tensor_data"};

// Short names for types of http/: refusals, which all protocols use, and HTTP requests and replies.

using http::Call;
using http::current_request_error;
using http::Handler;
using http::Head;
using http::Refusal;
using http::Reply;
using http::reply_of;
using http::RequestError;

}  // namespace cortado::server
