#pragma once

// What CUDA's libraries may do, beside the request. Lives in a Context: context.handle<CudaOptions>(); set before
// kernels are planned.

#include <cstdint>

namespace cortado::kernels {

struct CudaOptions {
  bool fast = false;  ///< kernels whose sums come in another order each time may be taken
  int64_t workspace = int64_t(512) << 20;  ///< most bytes of scratch that a library's kernel may ask for
};

}  // namespace cortado::kernels
