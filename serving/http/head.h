#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "http/message.h"

namespace cortado::http {

/// The head of a request. Throws RequestError(kInvalid) for a target that is no path.
Head head_of(const boost::beast::http::request_header<>& request);

}  // namespace cortado::http
