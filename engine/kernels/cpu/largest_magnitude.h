#pragma once

#include <cstdint>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

/// The largest |v| of n values of 32-bit floats or bfloat16; NaN where one is NaN, 0 of none. The same for any number
/// of threads.
float largest_magnitude(Context& context, const void* values, DType dtype, int64_t n);

}  // namespace cortado::kernels
