#pragma once

#include <cstddef>
#include <cstdint>

namespace cortado {

/// A block of host memory, aligned to 64 bytes and initially zero. Uses huge pages if the system provides them.
class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t bytes);  ///< throws Error(kDevice) with the bytes needed if memory is short
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  /// Total bytes that this process has ever allocated in arenas, including freed ones. Constant while a net runs.
  static uint64_t taken_bytes();

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace cortado
