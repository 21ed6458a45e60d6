#pragma once

// Order between contexts of one device. The CPU and the simulated device execute work immediately, so there nothing
// waits.

#include "core/context.h"

namespace cortado {

/// The completion of all work that a context enqueued before mark(). Before the first mark() it counts as complete. Not
/// thread-safe.
class DeviceEvent {
 public:
  DeviceEvent() = default;
  ~DeviceEvent();
  DeviceEvent(DeviceEvent&& other) noexcept;
  DeviceEvent& operator=(DeviceEvent&& other) noexcept;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  void mark(Context& context);       ///< marks the current end of the context's work
  void hold_back(Context& context);  ///< later work of `context` waits for the event
  void wait();                       ///< the calling thread waits for the event
  bool is_past();

 private:
  void* event_ = nullptr;  ///< the CUDA event; null on other devices
};

}  // namespace cortado
