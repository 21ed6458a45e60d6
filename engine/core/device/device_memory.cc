#include "core/device/device_memory.h"

#include <cstring>
#include <utility>

#include "core/device/cuda_runtime.h"
#include "core/device/recording.h"
#include "core/device/sync_counter.h"
#include "core/error.h"

namespace cortado {

namespace {

/// CUDA reports an error of its own while it records a graph.
void forbid_in_recording(const Context& context, const char* what) {
  if (context.recording) throw_internal(std::string(what) + " within recorded work");
}

}  // namespace

DeviceMemory::DeviceMemory(Context& context, size_t bytes) : device_(context.device), bytes_(bytes) {
  if (bytes == 0) return;
  forbid_in_recording(context, "an allocation");
  if (device_.is_cuda()) {
    data_ = static_cast<std::byte*>(cuda::allocate(device_.index, bytes));
  } else if (device_.is_simulated()) {
    data_ = allocate_simulated(bytes);
  } else {
    host_ = Arena(bytes);
    data_ = host_.data();
  }
}

DeviceMemory::~DeviceMemory() {
  if (!data_) return;
  if (device_.is_cuda()) cuda::free(device_.index, data_);
  if (device_.is_simulated()) free_simulated(data_);
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : device_(other.device_),
      host_(std::move(other.host_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(host_, other.host_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

/// Falls back to ordinary memory, from which copies are slower.
PinnedMemory::PinnedMemory(Context& context, size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (context.device.is_cuda()) data_ = static_cast<std::byte*>(cuda::allocate_locked(context.device.index, bytes));
  locked_ = data_ != nullptr;
  if (locked_) return;
  host_ = Arena(bytes);
  data_ = host_.data();
}

PinnedMemory::~PinnedMemory() {
  if (locked_) cuda::free_locked(data_);
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : host_(std::move(other.host_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      locked_(std::exchange(other.locked_, false)) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(host_, other.host_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(locked_, other.locked_);
  return *this;
}

namespace {

void copy(Context& context, void* to, const void* from, size_t bytes, cuda::Way way) {
  if (bytes == 0) return;
  if (context.device.is_cuda()) return cuda::copy_async(context, to, from, bytes, way);
  const int64_t moved = way == cuda::Way::kOnDevice ? int64_t(bytes) : 0;
  do_or_record(
      context, [=] { std::memmove(to, from, bytes); }, Traffic{moved, moved});
}

}  // namespace

void copy_to_device(Context& context, void* to, const void* host, size_t bytes) {
  copy(context, to, host, bytes, cuda::Way::kToDevice);
  synchronize(context);
}

void copy_to_host(Context& context, void* host, const void* from, size_t bytes) {
  copy(context, host, from, bytes, cuda::Way::kToHost);
  synchronize(context);
}

void copy_on_device(Context& context, void* to, const void* from, size_t bytes) {
  copy(context, to, from, bytes, cuda::Way::kOnDevice);
}

void copy_to_device_later(Context& context, void* to, const void* pinned, size_t bytes) {
  forbid_in_recording(context, "a copy from the host");
  copy(context, to, pinned, bytes, cuda::Way::kToDevice);
}

void clear_on_device(Context& context, void* to, size_t bytes) {
  if (bytes == 0) return;
  if (context.device.is_cuda()) return cuda::clear_async(context, to, bytes);
  do_or_record(
      context, [=] { std::memset(to, 0, bytes); }, Traffic{0, int64_t(bytes)});
}

void synchronize(Context& context) {
  forbid_in_recording(context, "a synchronization");
  ++context.handle<SyncCounter>().full;
  if (context.device.is_cuda()) cuda::synchronize(context);
}

void enter(const Context& context) {
  if (context.device.is_cuda()) cuda::enter(context.device.index);
}

}  // namespace cortado
