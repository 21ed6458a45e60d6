#pragma once

// Pooling with pool: STOCHASTIC, for non-negative activations. In training y is one value of each window, drawn with a
// probability proportional to it; in testing its expectation, (sum of x^2) / (sum of x). Padding is not supported. A
// window whose sum is not positive yields its first value in training and 0 in testing.
//
// The draw is a function of (seed, layer, forward pass, element), so resumed runs draw the same values as uninterrupted
// ones. Differs from Caffe: it runs on every device, and testing has a gradient.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// Throws FieldError.
std::unique_ptr<Layer> make_stochastic_pooling(const LayerOptions& options);

}  // namespace cortado
