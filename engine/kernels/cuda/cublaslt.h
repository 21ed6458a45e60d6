#pragma once

// Matrix products by cuBLASLt. The algorithm is chosen once, by the library's heuristics, and runs in the caller's
// memory.

#include <cublasLt.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/context.h"
#include "kernels/cuda_options.h"
#include "kernels/gemm.h"
#include "kernels/library.h"

namespace cortado::kernels::cublaslt {

// All functions of the library that are used.
#define CORTADO_CUBLASLT(function) \
  CORTADO_LIBRARY_FUNCTION("libcublasLt.so." CORTADO_AS_TEXT(CUBLAS_VER_MAJOR), function)
CORTADO_CUBLASLT(cublasLtGetVersion);
CORTADO_CUBLASLT(cublasLtGetStatusString);
CORTADO_CUBLASLT(cublasLtCreate);
CORTADO_CUBLASLT(cublasLtDestroy);
CORTADO_CUBLASLT(cublasLtMatrixLayoutCreate);
CORTADO_CUBLASLT(cublasLtMatrixLayoutSetAttribute);
CORTADO_CUBLASLT(cublasLtMatrixLayoutGetAttribute);
CORTADO_CUBLASLT(cublasLtMatrixLayoutDestroy);
CORTADO_CUBLASLT(cublasLtMatmulDescCreate);
CORTADO_CUBLASLT(cublasLtMatmulDescSetAttribute);
CORTADO_CUBLASLT(cublasLtMatmulDescGetAttribute);
CORTADO_CUBLASLT(cublasLtMatmulDescDestroy);
CORTADO_CUBLASLT(cublasLtMatmulPreferenceCreate);
CORTADO_CUBLASLT(cublasLtMatmulPreferenceSetAttribute);
CORTADO_CUBLASLT(cublasLtMatmulPreferenceDestroy);
CORTADO_CUBLASLT(cublasLtMatmulAlgoGetHeuristic);
CORTADO_CUBLASLT(cublasLtMatmul);
#undef CORTADO_CUBLASLT

/// The version of the loaded library: "cuBLASLt 13.0.2".
std::string version();

/// The number of products per call, and the strides of their operands in values; 0: one matrix for all. Results are
/// contiguous.
struct Batch {
  int64_t count = 1, step_a = 0, step_b = 0;
};

/// The epilogue of a product.
struct After {
  bool bias = false;  ///< one value of c's type per column
  float alpha = 1;    ///< factor of the product, before the bias
};

/// The library's descriptors of products. Needs no device.
struct Description {
  /// Throws Error(kDevice) if the library rejects the arguments.
  Description(const GemmShape& shape, const After& after, const Batch& batch, Precision precision);

  std::shared_ptr<void> operation;              ///< cublasLtMatmulDesc_t
  std::shared_ptr<void> first, second, result;  ///< cublasLtMatrixLayout_t in column-major order: our b, our a, our c
};

/// op(a) op(b) as in gemm(), or a batch of them, with an epilogue. a and b have the same type. Extents must be
/// positive.
class Product {
 public:
  /// Throws Error(kDevice) if the library has no algorithm.
  Product(Context& context, const GemmShape& shape, const After& after, const Batch& batch = {});

  int64_t workspace() const { return std::max(aligned_.workspace, anywhere_.workspace); }
  void run(Context& context, const void* a, const void* b, void* c, float beta, const void* bias, void* workspace);

 private:
  struct Algorithm {
    cublasLtMatmulAlgo_t algorithm{};
    int64_t workspace = 0;
  };
  /// Alignment of the operands in bytes.
  struct Alignment {
    uint32_t a, b, c;
  };
  Algorithm choose(Context& context, const Alignment& alignment) const;

  Description description_;
  After after_;
  Algorithm aligned_,
      anywhere_;  ///< for operands aligned to 16 bytes; for the steps of a recurrent layer
};

}  // namespace cortado::kernels::cublaslt
