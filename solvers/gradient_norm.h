#pragma once

#include <cstdint>
#include <vector>

#include "core/context.h"

namespace cortado {

/// How many floats of scratch sum_of_squares() wants for `count` elements.
int64_t sum_of_squares_scratch(int64_t count);

/// The sum of x[i]^2: partial sums in double over pieces of a fixed size, so the result does not depend on threads.
double sum_of_squares(Context& context, const float* x, int64_t count, float* scratch);

}  // namespace cortado
