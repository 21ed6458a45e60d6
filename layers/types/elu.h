#pragma once

// Also the layer of SeLu, which has other options.

#include <memory>

#include "layers/layer.h"

namespace cortado {

std::unique_ptr<Layer> make_elu(float alpha, float lambda);

}  // namespace cortado
