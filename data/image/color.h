#pragma once

#include "data/image/image.h"

namespace cortado::data {

/// Converts the image to `mode` in place: repeats one channel three times, or combines three (or four, the last being
/// alpha) into one as 0.114 B + 0.587 G + 0.299 R.
void convert_color(Image& image, ColorMode mode);

/// Converts four channels of CMYK ink to blue, green, red. Adobe's files store inverted ink.
void cmyk_to_bgr(Image& image, bool inverted);

}  // namespace cortado::data
