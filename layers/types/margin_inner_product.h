#pragma once

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// InnerProduct with `normalize` (NormFace): the rows of the weight are divided by their norms.
std::unique_ptr<Layer> make_normalized_inner_product(const LayerOptions& options);

}  // namespace cortado
