#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "http/message.h"

namespace cortado::http {

/// Parses the head of a request. Throws RequestError(kInvalid) if the target is not a path.
Head head_of(const boost::beast::http::request_header<>& request);

}  // namespace cortado::http
