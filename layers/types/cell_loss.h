#pragma once

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// DetectionLoss of YOLO v1: the loss of classes, scores and boxes of a grid of cells.
std::unique_ptr<Layer> make_cell_loss(const LayerOptions& options);

}  // namespace cortado
