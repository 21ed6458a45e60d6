#pragma once

// Memory of a Context's device, and copies to and from it. On the CPU it is host memory, and copies are plain copies.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "core/context.h"

namespace cortado {

/// A block of device memory, aligned to at least 64 bytes and initially zero.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Throws Error(kDevice) with the bytes needed and free if memory is short.
  DeviceMemory(Context& context, size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Device device_;
  Arena host_;  ///< the block, on the CPU
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Host memory that is page-locked on a CUDA device, for fast copies; plain memory on other devices. Initially zero.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(Context& context, size_t bytes);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Arena host_;  ///< the block, unless CUDA allocated a page-locked one
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  bool locked_ = false;
};

/// Copies in order with the context's other work. After copy_to_device the caller may change `host`. After copy_to_host
/// all earlier work is done and `host` has the bytes.
void copy_to_device(Context& context, void* to, const void* host, size_t bytes);
void copy_to_host(Context& context, void* host, const void* from, size_t bytes);
void copy_on_device(Context& context, void* to, const void* from, size_t bytes);
void clear_on_device(Context& context, void* to, size_t bytes);  ///< fills with zero bytes

/// Copies `list` to device memory.
template <typename T>
DeviceMemory copy_of_list(Context& context, const std::vector<T>& list) {
  DeviceMemory memory(context, list.size() * sizeof(T));
  copy_to_device(context, memory.data(), list.data(), memory.bytes());
  return memory;
}

/// `bytes` rounded up to whole cache lines, so that the next part of a block is aligned.
inline size_t whole_lines(int64_t bytes) { return size_t((bytes + 63) / 64 * 64); }

/// Like copy_to_device, but asynchronous: `pinned` must not change until the context's work so far is done.
void copy_to_device_later(Context& context, void* to, const void* pinned, size_t bytes);

/// Sets *to = value in order with the context's other work. Does not wait: the kernel's arguments hold the value.
void put_on_device(Context& context, uint64_t* to, uint64_t value);

/// Waits for all work of the context. Throws Error(kDevice) if any of it failed.
void synchronize(Context& context);

/// Makes the context's device current for the calling thread, which need not have created the context. Throws
/// Error(kDevice).
void enter(const Context& context);

}  // namespace cortado
