#pragma once

#include <cstddef>

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

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace cortado
