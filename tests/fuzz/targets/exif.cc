// EXIF blocks, within a JPEG, a PNG or a WebP or as the whole file. The first byte selects which. A PNG with the block
// must be decoded in the orientation that was read, and turning it back must restore the image.
#include <cstdlib>

#include "data/image/image.h"
#include "data/image/orientation.h"
#include "data/image/png.h"
#include "tests/data/exif_files.h"
#include "tests/fuzz/fuzzed.h"

namespace {

using namespace cortado::data;
using namespace cortado::data::testing;

const Image& upright() {
  static const Image image = [] {
    Image made;
    made.resize(3, 2, 3);
    for (size_t i = 0; i < made.pixels.size(); ++i) made.pixels[i] = uint8_t(11 * i);
    return made;
  }();
  return image;
}

std::string webp_with(const std::string& block) {
  return "RIFF" + number_of(uint32_t(block.size() + 12), 4, false) + "WEBPEXIF" +
         number_of(uint32_t(block.size()), 4, false) + block;
}

bool is_same(const Image& one, const Image& other) {
  return one.height == other.height && one.width == other.width && one.pixels == other.pixels;
}

void check_png(const std::string& file, int orientation) {
  static ImageDecoder decoder;
  Image decoded, turned = upright(), back;
  decoder.decode(file, ColorMode::kColor, decoded);
  if (orientation != 1) turn_upright(upright(), orientation, turned);
  if (!is_same(decoded, turned)) std::abort();
  const int inverse = orientation == 6 ? 8 : orientation == 8 ? 6 : orientation;  // the others are their own inverse
  turn_upright(turned, inverse, back);
  if (!is_same(back, upright())) std::abort();
}

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  if (input.empty() || input.size() > 60000) return;
  const int kind = input[0] & 3;
  const std::string block(input.substr(1));
  static const std::string png = encode_png(upright());
  const std::string file = kind == 0   ? block
                           : kind == 1 ? jpeg_with("\xFF\xD8\xFF\xD9", block)
                           : kind == 2 ? png_with(png, block)
                                       : webp_with(block);
  const int orientation = exif_orientation(file);
  if (orientation < 1 || orientation > 8) std::abort();
  if (kind == 2) check_png(file, orientation);
}
