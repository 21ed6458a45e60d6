#pragma once

// For layers that move over height and width alone, whatever the layout: images of H x W places, each so many channels
// wide.

#include "core/tensor.h"

namespace cortado {

/// The channels of an N x C x H x W tensor whose values for one place lie together.
inline int64_t lanes_of(const TensorSpec& spec) {
  return spec.layout == Layout::kPlain ? 1 : spec.layout == Layout::kBlocked16 ? 16 : spec.shape[1];
}

}  // namespace cortado
