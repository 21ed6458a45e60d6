#pragma once

// What CUDA calls return, made errors. For files that may include CUDA's headers.

#include <cuda_runtime_api.h>

#include <string>

#include "core/error.h"

namespace cortado {

[[noreturn]] inline void throw_cuda(cudaError_t status, const char* call) {
  throw Error(ExitCode::kDevice, std::string(call) + ": " + cudaGetErrorString(status),
              status == cudaErrorMemoryAllocation ? "a smaller batch_size needs less memory" : "");
}

inline void check_cuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw_cuda(status, call);
}

/// After a launch: what was wrong with it, or with work before it that has failed by now.
inline void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

}  // namespace cortado
