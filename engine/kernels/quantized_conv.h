#pragma once

// Convolution of 8-bit integers, in nets with frozen weights. With the scales of core/tensor.h
//     y = activation(sum over products of x and w + bias + z), each an integer divided by its scale,
// where products accumulate in 32 bits and only y is rounded. w is multiplied by the scale of its output channel and
// rounded to [-127, 127]. Some CPUs add pairs of products in 16 bits, where 2 * 255 * 127 overflows; there w for
// unsigned x has one bit less.

#include <memory>
#include <string>
#include <vector>

#include "kernels/conv.h"

namespace cortado::kernels {

struct QuantizedConvRequest {
  ConvShape shape;              ///< of images; layouts and dtype are ignored: all operands are channels last
  Encoding x, y, z;             ///< x has 8 bits; y has 8 bits or is 32-bit float; z, with a sum, has y's size
  std::vector<float> w_scales;  ///< per output channel
  bool bias = false;
  PostOps post = {};  ///< a sum and an activation, as suits_quantized_conv() allows
};

/// Whether this CPU has kernels for 8-bit integers that are faster than those for floats.
bool has_quantized_convs();

/// Whether these kernels support the shape and the post-ops.
bool suits_quantized_conv(const ConvShape& shape, const PostOps& post);

/// Throws an internal error if no kernel accepts the request. A request that passes suits_quantized_conv() is always
/// accepted.
std::unique_ptr<Conv> plan_quantized_conv(const QuantizedConvRequest& request, Context& context);

}  // namespace cortado::kernels
