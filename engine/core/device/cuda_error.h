#pragma once

// Converts status codes of CUDA calls to errors. For files that may include CUDA's headers.

#include <cuda_runtime_api.h>

#include <string>

#include "core/error.h"

namespace cortado {

[[noreturn]] inline void throw_cuda(cudaError_t status, const char* call) {
  throw Error(ExitCode::kDevice, std::string(call) + ": " + cudaGetErrorString(status),
              status == cudaErrorMemoryAllocation ? "use a smaller batch_size" : "");
}

inline void check_cuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw_cuda(status, call);
}

/// Checks a kernel launch. Also reports failures of earlier asynchronous work.
inline void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

}  // namespace cortado
