#pragma once

// Text functions and fragments of messages that several folders use.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cortado {

/// ASCII only.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; }
std::string lower_case(std::string_view text);

/// Whether the character needs no quoting in shells and URLs: letters, digits, '-' and '_'.
constexpr bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/// "a, b, c".
std::string list_text(const std::vector<std::string>& names, const char* between = ", ");

std::string mebibytes(int64_t bytes);  ///< "3 MiB", rounded up

/// "layer 'conv1'", and "layer 'conv1' (Convolution)".
std::string layer_text(const std::string& name);
std::string layer_text(const std::string& name, const std::string& type);

/// The path of one entry of a repeated field: "bottom[1]".
std::string entry(const std::string& field, int64_t index);

/// The entry to report if a repeated field has `have` entries instead of `expected`: the first excess one, or the
/// first.
std::string miscounted(const std::string& field, int64_t have, int64_t expected);

/// "1 axis", "3 axes".
std::string count_of(int64_t number, const std::string& singular, const std::string& plural);

/// A float in "%g" format: "0.5", "12", "nan".
std::string to_text(float value);

/// Base64 according to RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace cortado
