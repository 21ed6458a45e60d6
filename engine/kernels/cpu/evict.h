#pragma once

#include <cstddef>

namespace cortado::kernels {

/// Flushes `data` from all caches. No effect if the CPU has no such instruction.
void evict(const void* data, size_t bytes);

}  // namespace cortado::kernels
