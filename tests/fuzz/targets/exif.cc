// EXIF blocks, within a JPEG, a PNG or a WebP or as the whole file. The first byte selects which. A PNG with the block
// must be decoded in the orientation that was read, and turning it back must restore the image.
#include <zlib.h>

#include <cstdlib>

#include "data/image/image.h"
#include "data/image/orientation.h"
#include "data/image/png.h"
#include "tests/fuzz/fuzzed.h"

namespace {

using namespace cortado::data;

std::string number_of(size_t value, int bytes, bool high_first) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += char(value >> (8 * (high_first ? bytes - 1 - i : i)));
  return text;
}

const Image& upright() {
  static const Image image = [] {
    Image made;
    made.resize(3, 2, 3);
    for (size_t i = 0; i < made.pixels.size(); ++i) made.pixels[i] = uint8_t(11 * i);
    return made;
  }();
  return image;
}

std::string jpeg_with(const std::string& block) {
  const std::string content = std::string("Exif\0\0", 6) + block;
  return "\xFF\xD8\xFF\xE1" + number_of(content.size() + 2, 2, true) + content + "\xFF\xD9";
}

std::string png_with(const std::string& block) {
  static const std::string file = encode_png(upright());
  const std::string chunk = "eXIf" + block;
  const size_t sum = ::crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), uInt(chunk.size()));
  constexpr size_t kHeadBytes = 8 + 25;  // the signature and IHDR
  return file.substr(0, kHeadBytes) + number_of(block.size(), 4, true) + chunk + number_of(sum, 4, true) +
         file.substr(kHeadBytes);
}

std::string webp_with(const std::string& block) {
  return "RIFF" + number_of(block.size() + 12, 4, false) + "WEBPEXIF" + number_of(block.size(), 4, false) + block;
}

bool is_same(const Image& one, const Image& other) {
  return one.height == other.height && one.width == other.width && one.pixels == other.pixels;
}

void check_png(const std::string& file, int orientation) {
  static ImageDecoder decoder;
  Image decoded, turned, back;
  decoder.decode(file, ColorMode::kColor, decoded);
  decoder.decode(png_with(""), ColorMode::kColor, turned);
  if (orientation == 1) {
    back = decoded;
  } else {
    turn_upright(turned, orientation, back);
  }
  if (!is_same(decoded, back)) std::abort();
  const int inverse = orientation == 6 ? 8 : orientation == 8 ? 6 : orientation;  // the others are their own inverse
  turn_upright(back, inverse, decoded);
  if (!is_same(decoded, turned)) std::abort();
}

}  // namespace

void cortado::fuzz::fuzz(std::string_view input) {
  if (input.empty() || input.size() > 60000) return;
  const int kind = input[0] & 3;
  const std::string block(input.substr(1));
  const std::string file = kind == 0   ? block
                           : kind == 1 ? jpeg_with(block)
                           : kind == 2 ? png_with(block)
                                       : webp_with(block);
  const int orientation = exif_orientation(file);
  if (orientation < 1 || orientation > 8) std::abort();
  if (kind == 2) check_png(file, orientation);
}
