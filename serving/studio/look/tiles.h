#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"

namespace cortado::studio {

/// Numbers as a picture: planes beside one another.
struct Tiles {
  std::string png;  ///< a file's content
  int64_t planes = 0, shown = 0;
  int width = 0, height = 0;
};

/// The channels of one image, 1 x C x H x W: grey, black where the least of all values is, white where the greatest is.
Tiles activation_tiles(const Shape& shape, const std::vector<float>& values);

/// The filters of a convolution, O x I x H x W: in colours where they look at three channels (blue, green, red), else a
/// grey plane for each channel that each looks at. 0 is the same grey in all of them.
Tiles filter_tiles(const Shape& shape, const std::vector<float>& values);

}  // namespace cortado::studio
