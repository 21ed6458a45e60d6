#pragma once

// Two layers of different forks are called DetectionLoss; the fields of detection_loss_param distinguish them.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// MS-CNN's: the loss of a branch's classes and boxes.
std::unique_ptr<Layer> make_branch_loss(const LayerOptions& options);

}  // namespace cortado
