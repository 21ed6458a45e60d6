// EXIF is a TIFF without an image: "II*\0" or "MM\0*" determines the byte order. The offset of a directory follows,
// with entries of 12 bytes: tag, type, count, value. JPEG stores it in an APP1 segment, PNG in an eXIf chunk, WebP in
// an EXIF chunk.
#include "data/image/orientation.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>

#include "data/image/image_formats.h"
#include "data/image/jpeg.h"
#include "data/image/jpeg_segments.h"
#include "data/image/png.h"

namespace cortado::data {

namespace {

constexpr int kApp1 = 0xE1, kOrientationTag = 0x0112;
constexpr std::string_view kExifHead("Exif\0\0", 6);
constexpr size_t kPngHeadBytes = 8;

/// Numbers in either byte order; 0 beyond the end.
class TiffNumbers {
 public:
  TiffNumbers(std::string_view bytes, bool high_first) : bytes_(bytes), high_first_(high_first) {}

  int word(size_t at) const {
    return high_first_ ? word_at(bytes_, at) : byte_at(bytes_, at) | byte_at(bytes_, at + 1) << 8;
  }
  size_t long_word(size_t at) const {
    const size_t first = size_t(word(at)), second = size_t(word(at + 2));
    return high_first_ ? first << 16 | second : second << 16 | first;
  }

 private:
  std::string_view bytes_;
  bool high_first_;
};

int orientation_in(std::string_view tiff) {
  if (!tiff.starts_with("II") && !tiff.starts_with("MM")) return 1;
  const TiffNumbers numbers(tiff, tiff[0] == 'M');
  if (numbers.word(2) != 42) return 1;
  size_t at = numbers.long_word(4);
  const size_t kEntryBytes = 12;
  for (int left = numbers.word(at); left > 0 && at + 2 + kEntryBytes <= tiff.size(); --left, at += kEntryBytes) {
    if (numbers.word(at + 2) != kOrientationTag) continue;
    const int value = numbers.word(at + 10);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

std::string_view exif_of_jpeg(std::string_view file) {
  for (JpegSegments segments(file); segments.next();)
    if (segments.code() == kApp1 && segments.content().starts_with(kExifHead))
      return segments.content().substr(kExifHead.size());
  return {};
}

/// Chunks of length, type, content and checksum.
std::string_view exif_of_png(std::string_view file) {
  const TiffNumbers numbers(file, true);
  for (size_t at = kPngHeadBytes, length; at + 12 <= file.size(); at += 12 + length) {
    length = numbers.long_word(at);
    if (length > file.size() - at - 12) break;
    const std::string_view typed = file.substr(at + 4, 4 + length);
    if (!typed.starts_with("eXIf")) continue;
    const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(typed.data()), uInt(typed.size()));
    return sum == numbers.long_word(at + 8 + length) ? typed.substr(4) : std::string_view{};
  }
  return {};
}

/// Chunks of type, length and content, padded to an even length.
std::string_view exif_of_webp(std::string_view file) {
  const TiffNumbers numbers(file, false);
  for (size_t at = 12, length; at + 8 <= file.size(); at += 8 + length + length % 2) {
    length = numbers.long_word(at + 4);
    if (length > file.size() - at - 8) break;
    if (file.substr(at, 4) != "EXIF") continue;
    const std::string_view content = file.substr(at + 8, length);
    return content.starts_with(kExifHead) ? content.substr(kExifHead.size()) : content;
  }
  return {};
}

}  // namespace

int exif_orientation(std::string_view file) {
  if (is_jpeg(file)) return orientation_in(exif_of_jpeg(file));
  if (is_png(file)) return orientation_in(exif_of_png(file));
  if (is_webp(file)) return orientation_in(exif_of_webp(file));
  return 1;
}

void turn_upright(const Image& stored, int orientation, Image& out) {
  const bool transposed = orientation >= 5;
  const bool right_to_left = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool bottom_up = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  out.resize(stored.channels, transposed ? stored.width : stored.height, transposed ? stored.height : stored.width);
  const ptrdiff_t pixel = stored.channels, row = pixel * stored.width;
  ptrdiff_t across = transposed ? row : pixel, down = transposed ? pixel : row;
  const uint8_t* first = stored.pixels.data();
  if (right_to_left) first += across * (out.width - 1), across = -across;
  if (bottom_up) first += down * (out.height - 1), down = -down;
  uint8_t* to = out.pixels.data();
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x) to = std::copy_n(first + y * down + x * across, pixel, to);
}

}  // namespace cortado::data
