#pragma once

#include <string>
#include <string_view>

namespace cortado::http {

/// Compares in constant time.
bool is_same_secret(std::string_view given, std::string_view secret);

/// Throws Error(kUsage), which names the token's source, unless it has 16 to 256 characters that headers, cookies and
/// addresses can carry.
void check_token(const std::string& token, const std::string& source);

/// The token in a regular file, without blanks around it, checked. Throws Error(kIo) if the file cannot be read.
std::string token_of_file(const std::string& path);

/// 64 random hexadecimal digits. Throws Error(kInternal) if the system's random number generator fails.
std::string random_secret();

}  // namespace cortado::http
