#pragma once

#include <string>

namespace cortado {

/// One of nlohmann's trees as text, in one line or indented. Names out of files are not always UTF-8: what is none
/// becomes U+FFFD.
template <typename Json>
std::string dumped_json(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cortado
