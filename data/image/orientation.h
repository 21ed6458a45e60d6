#pragma once

#include <string_view>

#include "data/image/image.h"

namespace cortado::data {

/// The EXIF orientation of an image, 1 (upright) to 8. Reads JPEG, PNG and WebP; OpenCV itself rotates TIFF. Returns 1
/// without EXIF data or with a damaged block, because that does not make the image unusable.
int exif_orientation(std::string_view file);

/// Rotates or mirrors the image as its orientation requires. `out` must be another image.
void turn_upright(const Image& stored, int orientation, Image& out);

}  // namespace cortado::data
