#pragma once

// A tensor's values in the user's order, whatever its layout and type: row major, N C H W.

#include "core/context.h"
#include "core/tensor.h"

namespace cortado {

/// shape().count() floats; `tensor` lies where `context` computes, `plain` in the host's memory.
void read_values(Context& context, const Tensor& tensor, float* plain);

/// The other way round; padding lanes become 0. 8-bit integers are not written.
void write_values(Context& context, const float* plain, const Tensor& tensor);

}  // namespace cortado
