#pragma once

#include <memory>

namespace cortado {

/// A deleter that calls a function of the C interface.
template <auto close>
struct CloseBy {
  void operator()(auto* handle) const { close(handle); }
};

template <typename T, auto close>
using Handle = std::unique_ptr<T, CloseBy<close>>;

}  // namespace cortado
