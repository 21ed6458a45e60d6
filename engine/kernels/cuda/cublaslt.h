#pragma once

// Matrix products by cuBLASLt: an algorithm is chosen once, by the library's heuristics, and runs in memory of the
// caller's.

#include <cublasLt.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/context.h"
#include "kernels/cuda_options.h"
#include "kernels/gemm.h"
#include "kernels/library.h"

namespace cortado::kernels::cublaslt {

// Every function of it that is called anywhere.
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

/// "cuBLASLt 13.0.2"; of the library that is loaded.
std::string version();

/// How many products one call makes, and how far apart their operands lie, in values; 0: one matrix serves all. The
/// results lie one behind the other.
struct Batch {
  int64_t count = 1, step_a = 0, step_b = 0;
};

/// What may follow each element of a product.
struct After {
  bool bias = false;  ///< one value of c's type for each column
  float alpha = 1;    ///< a factor of the product, before the bias
};

/// Products as the library is told of them. No device need be there.
struct Description {
  /// Throws Error(kDevice) where the library refuses.
  Description(const GemmShape& shape, const After& after, const Batch& batch, Precision precision);

  std::shared_ptr<void> operation;              ///< cublasLtMatmulDesc_t
  std::shared_ptr<void> first, second, result;  ///< cublasLtMatrixLayout_t, as the library counts: our b, our a, our c
};

/// op(a) op(b) as gemm() has it, or many of them, with what may follow each element. a and b are of one type. Extents
/// are positive.
class Product {
 public:
  /// Throws Error(kDevice) where the library has no algorithm.
  Product(Context& context, const GemmShape& shape, const After& after, const Batch& batch = {});

  int64_t workspace() const { return std::max(aligned_.workspace, anywhere_.workspace); }
  void run(Context& context, const void* a, const void* b, void* c, float beta, const void* bias, void* workspace);

 private:
  struct Algorithm {
    cublasLtMatmulAlgo_t algorithm{};
    int64_t workspace = 0;
  };
  /// Of the operands, in bytes.
  struct Alignment {
    uint32_t a, b, c;
  };
  Algorithm choose(Context& context, const Alignment& alignment) const;

  Description description_;
  After after_;
  Algorithm aligned_,
      anywhere_;  ///< for operands that begin at multiples of 16 bytes; for the steps of a recurrent layer
};

}  // namespace cortado::kernels::cublaslt
