#pragma once

// Pooling over windows of three axes, of N x C x D x H x W. The number of windows along an axis and the divisor of an
// average follow the rules of two axes (layers/common/windows/pool_window.h). MAX and AVE; a second top is not
// supported. Pooling with kernel_size_3d or dilation, Pooling3D and PoolingND use it; they differ in the fields of
// their options.
//
// The values of a dilated window are `dilation` elements apart, so it extends over (kernel - 1) dilation + 1 elements.
// An average is divided by the number of its values within the padded image.

#include <memory>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace cortado {

/// Windows along each axis, and the fields that set them.
struct VolumeWindows {
  /// One option: a value for all axes or one for each, outermost first, and the field of each value.
  struct Option {
    std::vector<int64_t> values;
    std::vector<std::string> fields;
  };
  Option kernel, stride, pad;
  Option dilation = {{1}, {""}};
  bool average = false;
  bool up = true;              ///< the number of windows is rounded up
  bool counts_padding = true;  ///< an average's divisor counts padding
  bool any_axes = false;       ///< x may also have one or two axes after its channels
};

/// Throws FieldError, as its infer() does.
std::unique_ptr<Layer> make_volume_pooling(const VolumeWindows& windows);

/// For pooling_param with kernel_size_3d, or with kernel_size, which then applies to all axes; dilated windows may also
/// have one size for each side of an image. Throws FieldError.
std::unique_ptr<Layer> make_volume_pooling(const LayerOptions& options);

}  // namespace cortado
