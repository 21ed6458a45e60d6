#pragma once

#include <cstdint>

namespace cortado {

/// How the host has waited for a context's work; context.handle<SyncCounter>().
struct SyncCounter {
  int64_t full = 0;  ///< until all of it was done: a device had nothing left to do then
};

}  // namespace cortado
