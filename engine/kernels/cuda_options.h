#pragma once

// Options of CUDA libraries that are not part of requests. Stored in a Context as context.handle<CudaOptions>(). Set
// them before kernels are planned.

#include <cstdint>
#include <string>

namespace cortado::kernels {

struct CudaOptions {
  bool fast = false;                       ///< allows kernels that sum in nondeterministic order
  int64_t workspace = int64_t(512) << 20;  ///< maximum scratch bytes of a library kernel
  /// A GPU that is not present, as cuDNN's JSON: kernels can be planned for it but not run. Empty: the context's GPU.
  std::string described_gpu;
};

}  // namespace cortado::kernels
