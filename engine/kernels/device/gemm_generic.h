#pragma once

// The plain product, with the epilogue of an inner product.

#include "kernels/matmul.h"
#include "kernels/post_ops.h"

namespace cortado::kernels {

/// The epilogue of a product.
struct GemmEnd {
  float beta = 0;              ///< adds beta c; with 0, c is not read
  const void* bias = nullptr;  ///< n values of the type of b, added to each row; may be null
  Activation activation = {};
};

/// A MatMul on any device in one launch. a and b may have any float types; extents may be zero.
void gemm_generic(Context& context, const MatMulRequest& request, const void* a, const void* b, void* c,
                  const GemmEnd& end = {});

}  // namespace cortado::kernels
