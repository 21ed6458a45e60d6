#pragma once

#include <string>
#include <string_view>

namespace cortado::http {

/// Compares in constant time.
bool is_same_secret(std::string_view given, std::string_view secret);

/// 64 random hexadecimal digits. Throws Error(kInternal) if the system's random number generator fails.
std::string random_secret();

}  // namespace cortado::http
