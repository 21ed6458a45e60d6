#pragma once

#include <string_view>

#include "data/image/image.h"

namespace cortado::data {

/// How the stored image has to be turned to be shown, as its camera noted in EXIF: 1 (not at all) to 8. Looks into
/// JPEG, PNG and WebP; OpenCV turns TIFF by itself. 1 where nothing is noted, or the block is damaged: it costs no
/// image.
int exif_orientation(std::string_view file);

/// The image as it is shown. `out` is another image.
void turn_upright(const Image& stored, int orientation, Image& out);

}  // namespace cortado::data
