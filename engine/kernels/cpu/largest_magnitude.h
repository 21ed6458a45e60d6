#pragma once

#include <cstdint>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

/// The largest |v| of n 32-bit floats or bfloat16 values; NaN if any is NaN, 0 if n is 0. Independent of the number of
/// threads.
float largest_magnitude(Context& context, const void* values, DType dtype, int64_t n);

}  // namespace cortado::kernels
