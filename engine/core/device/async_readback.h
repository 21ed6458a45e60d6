#pragma once

// An asynchronous copy from device to host. The host continues and waits only when it needs the bytes.

#include "core/device/device_event.h"
#include "core/device/device_memory.h"

namespace cortado {

class AsyncReadback {
 public:
  AsyncReadback() = default;
  AsyncReadback(Context& context, size_t bytes) : host_(context, bytes) {}

  /// Enqueues a copy of `from` in the context's order of work. Must not be recorded (CapturedWork).
  void begin(Context& context, const void* from);
  /// The bytes of the latest begin(). Waits for work enqueued before it, not for later work.
  const std::byte* wait();

 private:
  PinnedMemory host_;
  DeviceEvent there_;
};

}  // namespace cortado
