#pragma once

// A net accepts any batch, but a composition is made for shapes. So a net is rewritten for a larger batch, too: if both
// results are the same, they are right for any batch. A composition may be made for extents of 1, as a batch of 1 is;
// then the results for two larger batches are compared.

#include <cstdint>
#include <vector>

#include "proto/cortado.pb.h"

namespace cortado::dialect {

/// A batch that is a multiple of the net's own, along an axis of the inputs.
struct BatchOf {
  int axis = 0;
  int64_t times = 1;
  bool open = true;  ///< the net accepts other batches
};

/// An Input layer with shapes of this batch; other layers are returned as they are.
caffe::LayerParameter with_batch(caffe::LayerParameter layer, const BatchOf& batch);

}  // namespace cortado::dialect
