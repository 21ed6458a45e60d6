#include "core/device/async_readback.h"

#include <cstring>

#include "core/device/cuda_runtime.h"
#include "core/device/simulated_device.h"
#include "core/error.h"

namespace cortado {

void AsyncReadback::begin(Context& context, const void* from) {
  if (context.recording) throw_internal("a copy to the host within recorded work");
  if (context.device.is_cuda()) {
    cuda::copy_async(context, host_.data(), from, host_.bytes(), cuda::Way::kToHost);
  } else {
    const DeviceAccess access(context);
    if (host_.bytes() > 0) std::memcpy(host_.data(), from, host_.bytes());
  }
  there_.mark(context);
}

const std::byte* AsyncReadback::wait() {
  there_.wait();
  return host_.data();
}

}  // namespace cortado
