#pragma once

// What the vendor libraries make of this machine, for people to read.

#include <cstdint>
#include <string>
#include <vector>

namespace cortado::kernels {

/// "oneDNN 2.6.3 (avx512_core_bf16)": the version that is loaded and the instructions it uses.
std::string onednn_version();

/// How many of oneDNN's primitives this process has made so far: a net that runs makes none.
int64_t onednn_primitives_made();

struct CudaDevice {
  int index = 0;
  std::string name;
  int64_t memory_bytes = 0;
};

/// The CUDA devices of this machine; `why_none` says why there are none. Never throws: no driver is no device.
std::vector<CudaDevice> cuda_devices(std::string& why_none);

}  // namespace cortado::kernels
