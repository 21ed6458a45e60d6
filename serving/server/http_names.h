#pragma once

// What the server takes from http/ by its short name: refusals, whatever the protocol, and HTTP's requests and answers.

#include "http/message.h"

namespace cortado::server {

using http::Call;
using http::current_request_error;
using http::Handler;
using http::Head;
using http::Refusal;
using http::Reply;
using http::reply_of;
using http::RequestError;

}  // namespace cortado::server
