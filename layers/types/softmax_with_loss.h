#pragma once

// SoftmaxWithLoss, which SoftmaxWithLossOHEM is with another top.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// With three tops the last one has the loss of each row, in the shape of the labels.
std::unique_ptr<Layer> make_softmax_with_loss(const LayerOptions& options);

}  // namespace cortado
