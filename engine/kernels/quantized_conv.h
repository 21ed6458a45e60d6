#pragma once

// Convolution of 8-bit integers, in nets whose weights never change. With the scales of core/tensor.h
//     y = activation(sum over products of x and w + bias + z), each an integer over its scale,
// where products are summed in 32 bits and only y is rounded. w is rounded to [-127, 127] after it was multiplied by
// the scale of its output channel; where the CPU adds products in pairs of 16 bits, which 255 * 127 twice would leave,
// w that meet unsigned x keep one bit less.

#include <memory>
#include <string>
#include <vector>

#include "kernels/conv.h"

namespace cortado::kernels {

struct QuantizedConvRequest {
  ConvShape shape;              ///< of images; layouts and dtype are not looked at: all operands lie channels last
  Encoding x, y, z;             ///< x of 8 bits; y too, or 32-bit floats; z, where there is a sum, of y's size
  std::vector<float> w_scales;  ///< of each output channel
  bool bias = false;
  PostOps post = {};  ///< a sum and an activation as suits_quantized_conv() says
};

/// Whether this CPU has kernels for 8-bit integers that are faster than those for floats.
bool has_quantized_convs();

/// Whether they take a convolution of that shape and what is to follow it.
bool suits_quantized_conv(const ConvShape& shape, const PostOps& post);

/// Throws an internal error where no kernel takes the request, which none refuses that suits_quantized_conv().
std::unique_ptr<Conv> plan_quantized_conv(const QuantizedConvRequest& request, Context& context);

}  // namespace cortado::kernels
