#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado::studio {

/// A picture of planes in a grid.
struct Tiles {
  std::string png;  ///< the content of a PNG file
  int64_t planes = 0, shown = 0;
  int width = 0, height = 0;
};

/// The channels of one image, 1 x C x H x W, in gray: the minimum of all values is black, the maximum white.
Tiles activation_tiles(const Shape& shape, const std::vector<float>& values);

/// The filters of a convolution, O x I x H x W. Filters of three input channels are in color (blue, green, red), others
/// have a gray plane for each channel. 0 is the same gray in all of them.
Tiles filter_tiles(const Shape& shape, const std::vector<float>& values);

}  // namespace cortado::studio
