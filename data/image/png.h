#pragma once

#include <string>

#include "data/image/image.h"

namespace cortado::data {

/// An image of 1 or 3 channels (blue, green, red) as a PNG file's content. Throws SampleError.
std::string encode_png(const Image& image);

}  // namespace cortado::data
