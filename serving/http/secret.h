#pragma once

#include <string>
#include <string_view>

namespace cortado::http {

/// Takes the same time wherever the two differ.
bool is_same_secret(std::string_view given, std::string_view secret);

/// 64 hexadecimal digits that nobody can guess. Throws Error(kInternal) where the system has no random numbers.
std::string random_secret();

}  // namespace cortado::http
