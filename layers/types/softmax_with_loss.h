#pragma once

// SoftmaxWithLoss, which SoftmaxWithLossOHEM is with another top and WeightedSoftmaxWithLoss with other weights.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// With three tops the last one has the loss of each row, in the shape of the labels.
std::unique_ptr<Layer> make_softmax_with_loss(const LayerOptions& options);

/// With softmax_param's pos_mult as the weight of the class pos_cid. Throws FieldError.
std::unique_ptr<Layer> make_weighted_softmax_with_loss(const LayerOptions& options);

}  // namespace cortado
