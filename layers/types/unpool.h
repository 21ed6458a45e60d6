#pragma once

// Two layers of different forks are called Upsample; the number of bottoms selects one. The one with a mask is
// DeconvNet's Unpooling, too.

#include <functional>
#include <memory>
#include <string>

#include "layers/layer.h"

namespace cortado {

/// The height and width of y.
struct UnpoolSize {
  int64_t h, w;
};

struct UnpoolRule {
  std::string type;                                ///< for messages
  std::function<UnpoolSize(const Shape& x)> size;  ///< throws FieldError
  std::string advice;                              ///< the hint for a mask with an index outside of y
};

/// Puts each value of x[0] back at the position that the mask x[1], a pooling's second top, holds.
std::unique_ptr<Layer> make_unpool(const UnpoolRule& rule);

/// The same for SegNet's Upsample.
std::unique_ptr<Layer> make_unpool(const LayerOptions& options);

/// The ratio of y's height and width to those of x.
struct UpsampleScale {
  int64_t h, w;
};

/// From scale, or scale_h and scale_w. Throws FieldError.
UpsampleScale upsample_scale(const caffe::UpsampleParameter& param);

}  // namespace cortado
