#pragma once

// What the vendor libraries report of this machine, as text.

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.h"

namespace cortado::kernels {

/// "oneDNN 2.6.3 (avx512_core_bf16)": the version that is loaded and the instructions it uses.
std::string onednn_version();

/// How many of oneDNN's primitives the context has made so far: a net that runs makes none.
int64_t onednn_primitives_made(Context& context);

struct CudaDevice {
  int index = 0;
  std::string name;
  std::string compute_capability;  ///< "9.0"
  int multiprocessors = 0;
  int64_t memory_bytes = 0, free_bytes = 0;
};

/// The CUDA devices of this machine; `why_none` says why there are none. Never throws: no driver is no device.
std::vector<CudaDevice> cuda_devices(std::string& why_none);

/// The driver and CUDA's libraries with their versions, each as a phrase; empty in a build without CUDA.
std::vector<std::string> cuda_libraries();

/// What the speed of kernels on a context's device depends on: "NVIDIA H100, cuDNN 9.19.0"; elsewhere Device::str().
std::string device_description(Context& context);

/// What computes on a context's device, each as a phrase: other bits may come where one of them is another.
std::vector<std::string> arithmetic_of(Context& context);

}  // namespace cortado::kernels
