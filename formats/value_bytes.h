#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/half.h"

namespace cortado {

/// Calls append(piece) for the bytes of `values` as float32 or float16, in pieces of bounded size.
template <typename Append>
void append_values(const std::vector<float>& values, bool halves, const Append& append) {
  constexpr size_t kPiece = size_t(1) << 16;
  if (values.empty()) return;  // a null pointer would restart a digest
  if (!halves)
    return append(std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  std::vector<Half> piece;
  for (size_t at = 0; at < values.size(); at += kPiece) {
    piece.assign(values.begin() + long(at), values.begin() + long(std::min(values.size(), at + kPiece)));
    append(std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size() * sizeof(Half)));
  }
}

}  // namespace cortado
