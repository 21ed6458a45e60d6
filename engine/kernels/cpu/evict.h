#pragma once

#include <cstddef>

namespace cortado::kernels {

/// Takes `data` out of this machine's caches, so that its next reader waits for memory. Where the CPU has no such
/// instruction: nothing.
void evict(const void* data, size_t bytes);

}  // namespace cortado::kernels
