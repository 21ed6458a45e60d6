#pragma once

// Pooling with pool: STOCHASTIC, for activations that are not negative: in training y is one value of each window,
// drawn with a chance proportional to it; in testing what that gives on average, (sum of x^2) / (sum of x). There is no
// padding, and a window whose sum is not positive gives its first value in training and 0 in testing.
//
// The draw is a function of (seed, layer, forward pass, element), so resumed runs draw what uninterrupted ones would
// have drawn. Differs from Caffe: it runs on every device, and testing has a gradient.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// Throws FieldError.
std::unique_ptr<Layer> make_stochastic_pooling(const LayerOptions& options);

}  // namespace cortado
