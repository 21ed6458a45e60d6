#pragma once

// Words of messages that several folders write.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cortado {

/// Of ASCII's letters.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; }
std::string lower_case(std::string_view text);

/// Of what is a word to every shell and in every address: letters, digits, '-' and '_'.
constexpr bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/// "a, b, c".
std::string list_text(const std::vector<std::string>& names, const char* between = ", ");

std::string mebibytes(int64_t bytes);  ///< "3 MiB", rounded up

/// "layer 'conv1'", and "layer 'conv1' (Convolution)".
std::string layer_text(const std::string& name);
std::string layer_text(const std::string& name, const std::string& type);

// Numbers as they stand in messages.

/// The path of one entry of a repeated field: "bottom[1]".
std::string entry(const std::string& field, int64_t index);

/// Where to point when a repeated field has `have` entries and should have `wanted`: the first that is too many, or the
/// first.
std::string miscounted(const std::string& field, int64_t have, int64_t wanted);

/// "1 axis", "3 axes".
std::string count_of(int64_t number, const std::string& singular, const std::string& plural);

/// A float as it is usually written: "0.5", "12", "nan".
std::string to_text(float value);

/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace cortado
