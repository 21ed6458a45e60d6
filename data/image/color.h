#pragma once

#include "data/image/image.h"

namespace cortado::data {

/// Makes the image what `mode` asks for, in place: one channel repeated three times, or three (or four, the last of
/// which is alpha) weighed into one as 0.114 B + 0.587 G + 0.299 R.
void convert_color(Image& image, ColorMode mode);

/// Four channels of ink to blue, green, red. Adobe's files store ink inverted.
void cmyk_to_bgr(Image& image, bool inverted);

}  // namespace cortado::data
