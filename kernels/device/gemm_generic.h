#pragma once

// The plain product, with what a fully connected layer adds to it.

#include "kernels/gemm.h"
#include "kernels/post_ops.h"

namespace cortado::kernels {

/// gemm() on any device, one functor call for each element; then `bias` (n values of the type of b, may be null) is
/// added to each row, and the activation taken.
void gemm_generic(Context& context, const GemmShape& shape, const void* a, const void* b, void* c, float beta,
                  const void* bias, const Activation& activation);

}  // namespace cortado::kernels
