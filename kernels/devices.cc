#include "kernels/devices.h"

#include "core/isa_level.h"

namespace cortado::kernels {

std::vector<std::string> arithmetic_of(Context& context) {
  if (context.device.is_cuda()) return {device_description(context)};
  return {"CPU level " + name_of(kCompiledIsa), onednn_version()};
}

}  // namespace cortado::kernels
