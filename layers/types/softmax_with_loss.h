#pragma once

// SoftmaxWithLoss, shared by SoftmaxWithLossOHEM (another top) and WeightedSoftmaxWithLoss (other weights).

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// With three tops the last one has the loss of each row, in the shape of the labels.
std::unique_ptr<Layer> make_softmax_with_loss(const LayerOptions& options);

/// Weights the class softmax_param.pos_cid by pos_mult. Throws FieldError.
std::unique_ptr<Layer> make_weighted_softmax_with_loss(const LayerOptions& options);

}  // namespace cortado
