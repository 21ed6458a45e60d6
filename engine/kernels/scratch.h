#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cortado::kernels {

/// The layout of a scratch block; every part is aligned to a cache line. Use one layout per direction of a kernel.
class ScratchLayout {
 public:
  /// Reserves `bytes` after all earlier parts; returns their offset.
  int64_t add(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

/// The part at `offset` of the block.
inline void* scratch_part(void* scratch, int64_t offset) { return static_cast<std::byte*>(scratch) + offset; }

}  // namespace cortado::kernels
