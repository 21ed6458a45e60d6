#pragma once

// What device memory held at a moment, brought to the host behind its back: the host goes on, and waits for that moment
// only when it wants the bytes.

#include "core/device/device_event.h"
#include "core/device/device_memory.h"

namespace cortado {

class AsyncReadback {
 public:
  AsyncReadback() = default;
  AsyncReadback(Context& context, size_t bytes) : host_(context, bytes) {}

  /// Puts a copy of what `from` holds then into the context's work. Not to be recorded.
  void begin(Context& context, const void* from);
  /// The bytes of the latest begin(). Waits for the work before it, not for what came later.
  const std::byte* wait();

 private:
  PinnedMemory host_;
  DeviceEvent there_;
};

}  // namespace cortado
