#pragma once

// What CUDA's libraries may do, beside the request. Lives in a Context: context.handle<CudaOptions>(); set before
// kernels are planned.

#include <cstdint>
#include <string>

namespace cortado::kernels {

struct CudaOptions {
  bool fast = false;                       ///< kernels whose sums come in another order each time may be taken
  int64_t workspace = int64_t(512) << 20;  ///< most bytes of scratch that a library's kernel may ask for
  /// A GPU that is not here, in cuDNN's JSON: kernels can be planned for it, not run. Empty: the context's own.
  std::string described_gpu;
};

}  // namespace cortado::kernels
