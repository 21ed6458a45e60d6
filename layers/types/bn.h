#pragma once

// BN has a header because SyncBN is the same on one machine.

#include "layers/layer.h"

namespace cortado {

/// Throws FieldError.
std::unique_ptr<Layer> make_bn(const LayerOptions& options);

}  // namespace cortado
