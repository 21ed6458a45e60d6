#pragma once

// The plain product, with what a fully connected layer adds to it.

#include "kernels/matmul.h"
#include "kernels/post_ops.h"

namespace cortado::kernels {

/// What becomes of a sum of products before it is stored.
struct GemmEnd {
  float beta = 0;              ///< beta c is added; with 0, c is not read
  const void* bias = nullptr;  ///< n values of the type of b, added to each row; may be null
  Activation activation = {};
};

/// A MatMul on any device in one launch, with a and b of any float types; extents may be zero.
void gemm_generic(Context& context, const MatMulRequest& request, const void* a, const void* b, void* c,
                  const GemmEnd& end = {});

}  // namespace cortado::kernels
