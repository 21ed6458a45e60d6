#pragma once

#include <cstdint>

namespace cortado {

/// How often the host waited for a context's work; context.handle<SyncCounter>().
struct SyncCounter {
  int64_t full = 0;  ///< waits for all work, after which the device is idle
};

}  // namespace cortado
