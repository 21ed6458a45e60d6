#include "core/text/text.h"

#include <cstdint>
#include <cstdio>

namespace cortado {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

std::string list_text(const std::vector<std::string>& names, const char* between) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : between) + name;
  return list;
}

std::string mebibytes(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

std::string layer_text(const std::string& name) { return "layer '" + name + "'"; }

std::string layer_text(const std::string& name, const std::string& type) {
  return layer_text(name) + " (" + type + ")";
}

std::string entry(const std::string& field, int64_t index) { return field + "[" + std::to_string(index) + "]"; }

std::string miscounted(const std::string& field, int64_t have, int64_t expected) {
  return entry(field, have > expected ? expected : 0);
}

std::string count_of(int64_t number, const std::string& singular, const std::string& plural) {
  return std::to_string(number) + " " + (number == 1 ? singular : plural);
}

std::string to_text(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", double(value));
  return text;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < bytes.size() ? uint8_t(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace cortado
