#pragma once

#include <memory>

namespace cortado {

/// Calls a function of the C interface at the end of a handle's life.
template <auto close>
struct CloseBy {
  void operator()(auto* handle) const { close(handle); }
};

template <typename T, auto close>
using Handle = std::unique_ptr<T, CloseBy<close>>;

}  // namespace cortado
