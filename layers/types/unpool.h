#pragma once

// Two layers of different forks are called Upsample; the number of bottoms selects one.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// SegNet's: puts each value back at the position that the mask, a pooling's second top, holds.
std::unique_ptr<Layer> make_unpool(const LayerOptions& options);

/// The ratio of y's height and width to those of x.
struct UpsampleScale {
  int64_t h, w;
};

/// From scale, or scale_h and scale_w. Throws FieldError.
UpsampleScale upsample_scale(const caffe::UpsampleParameter& param);

}  // namespace cortado
