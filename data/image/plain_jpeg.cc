#include "data/image/plain_jpeg.h"

#include "data/image/jpeg_segments.h"
#include "data/image/orientation.h"

namespace cortado::data {

namespace {

constexpr int kBaselineFrame = 0xC0, kHuffman = 0xC4, kLastFrame = 0xCF, kApp0 = 0xE0, kApp14 = 0xEE;

/// What the segments before the scan say.
struct Headers {
  std::string_view frame, scan;
  bool jfif = false, adobe = false;
  int adobe_transform = 0;
};

/// Takes a segment's content into account; false for what makes a JPEG another kind.
bool take(int code, std::string_view content, Headers& headers) {
  if (code == kBaselineFrame && headers.frame.empty())
    headers.frame = content;
  else if (code >= kBaselineFrame && code <= kLastFrame && code != kHuffman)
    return false;  // another kind of frame, a second one, or arithmetic coding
  else if (code == kApp0 && content.starts_with(std::string_view("JFIF\0", 5)))
    headers.jfif = true;
  else if (code == kApp14 && content.starts_with("Adobe") && content.size() >= 12) {
    headers.adobe = true;
    headers.adobe_transform = byte_at(content, 11);
  }
  return true;
}

/// All segments up to the first scan; false where they are damaged, or of another kind.
bool read_headers(std::string_view file, Headers& headers) {
  for (JpegSegments segments(file); segments.next();) {
    if (segments.code() == JpegSegments::kStartOfScan) {
      headers.scan = segments.content();
      return true;
    }
    if (!take(segments.code(), segments.content(), headers)) return false;
  }
  return false;
}

/// Three components of 8 bits, chroma of one sample for one, two or four of luma.
bool is_common_frame(std::string_view frame) {
  constexpr size_t kBytes = 6 + 3 * 3;
  if (frame.size() != kBytes || byte_at(frame, 0) != 8 || byte_at(frame, 5) != 3) return false;
  if (word_at(frame, 1) == 0 || word_at(frame, 3) == 0) return false;
  const int luma = byte_at(frame, 7);
  return (luma == 0x11 || luma == 0x21 || luma == 0x12 || luma == 0x22) && byte_at(frame, 10) == 0x11 &&
         byte_at(frame, 13) == 0x11;
}

/// By markers, or by the numbers that JFIF's components have; libjpeg believes them in this order.
bool is_surely_ycc(const Headers& headers) {
  if (headers.adobe) return headers.adobe_transform == 1;
  if (headers.jfif) return true;
  return byte_at(headers.frame, 6) == 1 && byte_at(headers.frame, 9) == 2 && byte_at(headers.frame, 12) == 3;
}

}  // namespace

bool is_plain_jpeg(std::string_view file) {
  Headers headers;
  return file.size() > 4 && word_at(file, file.size() - 2) == (0xFF00 | JpegSegments::kEndOfImage) &&
         read_headers(file, headers) && is_common_frame(headers.frame) && is_surely_ycc(headers) &&
         byte_at(headers.scan, 0) == 3 && exif_orientation(file) == 1;
}

}  // namespace cortado::data
