#pragma once

#include "core/context.h"
#include "core/tensor.h"

namespace cortado {

/// dx = dy[0] times the gradient that forward() computed, for a loss on the host. `gradient`: as many floats as dx has;
/// dy without memory counts as 0.
void scale_kept_gradient(Context& context, const void* gradient, const Tensor& dy, const Tensor& dx);

}  // namespace cortado
