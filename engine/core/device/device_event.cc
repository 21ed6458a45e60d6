#include "core/device/device_event.h"

#include <utility>

#include "core/device/cuda_runtime.h"

namespace cortado {

DeviceEvent::~DeviceEvent() {
  if (event_) cuda::free_event(event_);
}

DeviceEvent::DeviceEvent(DeviceEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}

DeviceEvent& DeviceEvent::operator=(DeviceEvent&& other) noexcept {
  std::swap(event_, other.event_);
  return *this;
}

void DeviceEvent::mark(Context& context) {
  if (!context.device.is_cuda()) return;
  if (!event_) event_ = cuda::make_event();
  cuda::record_event(context, event_);
}

void DeviceEvent::hold_back(Context& context) {
  if (event_) cuda::wait_for_event(context, event_);
}

bool DeviceEvent::is_past() { return !event_ || cuda::event_is_past(event_); }

void DeviceEvent::wait() {
  if (event_) cuda::wait_for_event(event_);
}

}  // namespace cortado
