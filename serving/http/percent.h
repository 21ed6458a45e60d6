#pragma once

#include <string>
#include <string_view>

namespace cortado::http {

/// A part of an address with its %XX decoded. Throws RequestError(kInvalid) where they are no hexadecimal numbers.
std::string percent_decoded(std::string_view text);

/// The same of a value of a query, in which "+" is a space.
std::string query_decoded(std::string_view text);

}  // namespace cortado::http
