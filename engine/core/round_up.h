#pragma once

#include <type_traits>

namespace cortado {

/// The least multiple of `unit` that is not below `n`; neither is negative.
template <typename T>
constexpr T round_up(T n, std::type_identity_t<T> unit) {
  return (n + unit - 1) / unit * unit;
}

}  // namespace cortado
