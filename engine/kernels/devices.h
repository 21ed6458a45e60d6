#pragma once

// Descriptions of the machine by the vendor libraries.

#include <cstdint>
#include <string>
#include <vector>

#include "core/context.h"

namespace cortado::kernels {

/// The loaded version of oneDNN and its instruction set: "oneDNN 2.6.3 (avx512_core_bf16)".
std::string onednn_version();

/// The number of oneDNN primitives created in the context so far. A running net creates none.
int64_t onednn_primitives_made(Context& context);

struct CudaDevice {
  int index = 0;
  std::string name;
  std::string compute_capability;  ///< "9.0"
  int multiprocessors = 0;
  int64_t memory_bytes = 0, free_bytes = 0;
};

/// The CUDA devices of this machine; if there are none, `why_none` has the reason. Never throws; a missing driver
/// counts as no devices.
std::vector<CudaDevice> cuda_devices(std::string& why_none);

/// The versions of the driver and the CUDA libraries, one string each; empty in a build without CUDA.
std::vector<std::string> cuda_libraries();

/// Identifies what the speed of kernels depends on: "NVIDIA H100, cuDNN 9.19.0"; Device::str() on other devices.
std::string device_description(Context& context);

/// Identifies what results on a context's device depend on, one string each. If one differs, results may differ in
/// their last bits.
std::vector<std::string> arithmetic_of(Context& context);

}  // namespace cortado::kernels
