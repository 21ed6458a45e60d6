#pragma once

#include <cstddef>
#include <cstdint>

namespace cortado {

/// One block of host memory, aligned to 64 bytes (huge pages where the system gives them), zero at first.
class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t bytes);  ///< throws Error(kDevice) with the bytes needed when there is not enough memory
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  /// Bytes that all arenas of this process have taken so far, those given back included. It stands still while a net
  /// runs.
  static uint64_t taken_bytes();

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace cortado
