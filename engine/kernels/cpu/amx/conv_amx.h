#pragma once

// Convolution on AMX. forward and backward_data are in conv_amx.cc, backward_weights has its own file.

#include <memory>

#include "kernels/conv.h"

namespace cortado::kernels {

/// Requires blocked tensors and weights, one group, and amx::is_here().
std::unique_ptr<ConvKernel> make_amx_backward_weights(const ConvRequest& request, int pieces);

}  // namespace cortado::kernels
