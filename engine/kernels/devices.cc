#include "kernels/devices.h"

#include "core/cpu/isa_level.h"
#include "kernels/gemm.h"

namespace cortado::kernels {

std::vector<std::string> arithmetic_of(Context& context) {
  if (context.device.is_cuda()) return {device_description(context)};
  std::vector<std::string> all = {"CPU level " + name_of(kCompiledIsa), onednn_version()};
  if (std::string unused; suits_openblas(context, unused)) all.push_back(openblas_version());
  return all;
}

}  // namespace cortado::kernels
