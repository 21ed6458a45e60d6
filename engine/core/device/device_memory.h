#pragma once

// Memory where a Context computes, and the way there and back. On the CPU all of it is host memory and a copy is a
// copy.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/arena.h"
#include "core/context.h"

namespace cortado {

/// One block of the memory of a context's device, aligned to at least 64 bytes, zero at first.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Throws Error(kDevice) with the bytes needed and free when there is not enough.
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
  Arena host_;  ///< the block itself on the CPU
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Host memory that copies to and from a CUDA device read directly (page-locked); elsewhere plain memory. Zero at
/// first.
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
  Arena host_;  ///< the block itself, unless CUDA gave one that is locked
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  bool locked_ = false;
};

/// Copies, in order with the context's other work. When copy_to_device returns, `host` may change; when copy_to_host
/// returns, everything before it is done and `host` holds the bytes.
void copy_to_device(Context& context, void* to, const void* host, size_t bytes);
void copy_to_host(Context& context, void* host, const void* from, size_t bytes);
void copy_on_device(Context& context, void* to, const void* from, size_t bytes);
void clear_on_device(Context& context, void* to, size_t bytes);  ///< bytes of zero

/// A copy of `list` in memory of the context's device.
template <typename T>
DeviceMemory copy_of_list(Context& context, const std::vector<T>& list) {
  DeviceMemory memory(context, list.size() * sizeof(T));
  copy_to_device(context, memory.data(), list.data(), memory.bytes());
  return memory;
}

/// `bytes` rounded up to whole cache lines: where the next part of a block may begin.
inline size_t whole_lines(int64_t bytes) { return size_t((bytes + 63) / 64 * 64); }

/// Like copy_to_device, but returns at once: `pinned` stays as it is until the context's work so far is done.
void copy_to_device_later(Context& context, void* to, const void* pinned, size_t bytes);

/// *to = value, in order with the context's other work. Waits for nothing: the value travels with the order to write
/// it.
void put_on_device(Context& context, uint64_t* to, uint64_t value);

/// Waits for all work of the context. Throws Error(kDevice) when some of it failed.
void synchronize(Context& context);

/// Makes the calling thread one that works for `context`, which another thread may have made. Throws Error(kDevice).
void enter(const Context& context);

}  // namespace cortado
