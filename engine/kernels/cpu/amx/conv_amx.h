#pragma once

// The directions of a convolution on AMX, one file each but for forward and backward_data (conv_amx.cc).

#include <memory>

#include "kernels/conv.h"

namespace cortado::kernels {

/// For blocked tensors and weights, one group, where amx::is_here().
std::unique_ptr<ConvKernel> make_amx_backward_weights(const ConvRequest& request, int threads);

}  // namespace cortado::kernels
