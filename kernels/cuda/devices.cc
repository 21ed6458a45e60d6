#include "kernels/devices.h"

#ifdef CORTADO_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace cortado::kernels {

#ifdef CORTADO_WITH_CUDA

std::vector<CudaDevice> cuda_devices(std::string& why_none) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    why_none = status == cudaSuccess ? "no CUDA device" : cudaGetErrorString(status);
    return {};
  }
  std::vector<CudaDevice> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) continue;
    devices.push_back({index, properties.name, int64_t(properties.totalGlobalMem)});
  }
  return devices;
}

#else

std::vector<CudaDevice> cuda_devices(std::string& why_none) {
  why_none = "built without CUDA";
  return {};
}

#endif

}  // namespace cortado::kernels
