#pragma once

// Two layers of different forks are called Upsample; the number of bottoms tells them apart.

#include <memory>

#include "layers/layer.h"

namespace cortado {

/// SegNet's: puts each value back where a pooling's second top says that it came from.
std::unique_ptr<Layer> make_unpool(const LayerOptions& options);

/// How many times as high and as wide y is.
struct UpsampleScale {
  int64_t h, w;
};

/// From scale, or scale_h and scale_w. Throws FieldError.
UpsampleScale upsample_scale(const caffe::UpsampleParameter& param);

}  // namespace cortado
