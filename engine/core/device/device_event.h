#pragma once

// Order between contexts of one device. Where a context's work runs at once (the CPU, the simulated device) there is
// nothing to wait for.

#include "core/context.h"

namespace cortado {

/// A moment in a context's work: that at which all that was put before mark() is done. Before the first mark() it lies
/// in the past. Not thread-safe.
class DeviceEvent {
 public:
  DeviceEvent() = default;
  ~DeviceEvent();
  DeviceEvent(DeviceEvent&& other) noexcept;
  DeviceEvent& operator=(DeviceEvent&& other) noexcept;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  void mark(Context& context);       ///< now, in this context's work
  void hold_back(Context& context);  ///< what is put into `context` from now on waits for the moment
  void wait();                       ///< the caller waits for it
  bool is_past();

 private:
  void* event_ = nullptr;  ///< CUDA's; null elsewhere
};

}  // namespace cortado
