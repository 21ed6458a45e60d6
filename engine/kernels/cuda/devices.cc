#include "kernels/devices.h"

#include <cuda_runtime_api.h>

#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/cudnn.h"

namespace cortado::kernels {

namespace {

/// "13.0" of 13000.
std::string dotted(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

/// Free memory of a device. The query creates a CUDA context, which takes a moment and some of that memory.
int64_t free_bytes(int index) {
  int before = 0;
  size_t free = 0, total = 0;
  if (cudaGetDevice(&before) != cudaSuccess || cudaSetDevice(index) != cudaSuccess) return 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) free = 0;
  cudaSetDevice(before);
  return int64_t(free);
}

/// The result of version(), or the error of loading the library.
std::string version_or_error(std::string (*version)()) {
  try {
    return version();
  } catch (const MissingLibrary& error) {
    return error.mistakes().front().message;
  }
}

}  // namespace

std::vector<CudaDevice> cuda_devices(std::string& why_none) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    why_none = status == cudaSuccess ? "no CUDA device" : cudaGetErrorString(status);
    return {};
  }
  std::vector<CudaDevice> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp p{};
    if (cudaGetDeviceProperties(&p, index) != cudaSuccess) continue;
    devices.push_back({.index = index,
                       .name = p.name,
                       .compute_capability = std::to_string(p.major) + "." + std::to_string(p.minor),
                       .multiprocessors = p.multiProcessorCount,
                       .memory_bytes = int64_t(p.totalGlobalMem),
                       .free_bytes = free_bytes(index)});
  }
  return devices;
}

std::vector<std::string> cuda_libraries() {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  return {driver > 0 ? "driver for CUDA " + dotted(driver) : "no driver", "CUDA runtime " + dotted(runtime),
          version_or_error(cudnn::version), version_or_error(cublaslt::version)};
}

std::string device_description(Context& context) {
  struct Known {
    std::string text;
  };
  if (!context.device.is_cuda()) return context.device.str();
  std::string& text = context.handle<Known>().text;  // cached, because the query is slow
  if (!text.empty()) return text;
  cudaDeviceProp p{};
  const bool answered = cudaGetDeviceProperties(&p, context.device.index) == cudaSuccess;
  return text = std::string(answered ? p.name : "unknown GPU") + ", " + cudnn::version();
}

}  // namespace cortado::kernels
