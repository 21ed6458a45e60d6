#pragma once

// Convolutions that implementations of oneDNN compute wrongly. Drawn shapes found most (tests/kernels/drawn_convs.h).

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "kernels/conv.h"

namespace cortado::kernels::onednn {

/// Whether `impl` must not run this direction of `s`, whose operands it reads channels last or in blocks.
bool is_faulty(const ConvShape& s, ConvDirection direction, const std::string& impl, bool channels_last);

/// Moves `pd`, which describes forward of `s`, to its first implementation that is not faulty. Throws dnnl::error if
/// there is none.
void skip_faulty(dnnl::convolution_forward::primitive_desc& pd, const ConvShape& s, bool channels_last);

/// Whether this direction reads parts of its scratchpad that it has not written. It multiplies them by 0, so that they
/// matter if they are NaN or infinite.
bool reads_unwritten_scratch(const ConvShape& s, ConvDirection direction);

}  // namespace cortado::kernels::onednn
