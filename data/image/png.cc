// Writes PNGs by libpng. Each row contains the difference to the row above (filter 2, "up"), which is fast and suits
// images with areas of one color. All compressor options are set explicitly, so the same pixels produce the same bytes.

#include "data/image/png.h"

#include <png.h>
#include <zlib.h>

#include <csetjmp>
#include <utility>

#include "data/image/jpeg_segments.h"
#include "data/image/orientation.h"

namespace cortado::data {

namespace {

constexpr size_t kChunkBytes = size_t(1) << 20;  // smaller chunks cost 12 bytes each without a benefit

/// libpng's writer. libpng reports errors by longjmp, so no object with a destructor may be in a stack frame that is
/// skipped.
struct PngWriter {
  std::string file, message;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);

  ~PngWriter() { png_destroy_write_struct(&png, &info); }

  static void on_warning(png_structp, png_const_charp) {}

  [[noreturn]] static void on_error(png_structp png, png_const_charp what) {
    static_cast<PngWriter*>(png_get_error_ptr(png))->message = what;
    png_longjmp(png, 1);
  }

  static void append(png_structp png, png_bytep bytes, size_t n) {
    static_cast<PngWriter*>(png_get_io_ptr(png))->file.append(reinterpret_cast<const char*>(bytes), n);
  }

  static void flush(png_structp) {}

  bool run(const Image& image) {
    if (info == nullptr || setjmp(png_jmpbuf(png))) return false;
    png_set_write_fn(png, this, append, flush);
    png_set_IHDR(png, info, png_uint_32(image.width), png_uint_32(image.height), 8,
                 image.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
    png_set_compression_level(png, 6);
    png_set_compression_strategy(png, Z_DEFAULT_STRATEGY);
    png_set_compression_buffer_size(png, kChunkBytes);
    png_write_info(png, info);
    png_set_bgr(png);
    const size_t row_bytes = size_t(image.width) * size_t(image.channels);
    for (size_t y = 0; y < size_t(image.height); ++y) png_write_row(png, image.pixels.data() + y * row_bytes);
    png_write_end(png, nullptr);
    return true;
  }
};

}  // namespace

std::string encode_png(const Image& image) {
  if (image.channels != 1 && image.channels != 3)
    throw SampleError("an image of " + std::to_string(image.channels) + " channels cannot be a PNG here");
  PngWriter writer;
  if (!writer.run(image)) throw SampleError("libpng: " + writer.message);
  return std::move(writer.file);
}

namespace {

constexpr int kBaselineFrame = 0xC0, kHuffman = 0xC4, kLastFrame = 0xCF, kApp0 = 0xE0, kApp14 = 0xEE;

/// Data from the segments before the scan.
struct Headers {
  std::string_view frame, scan;
  bool jfif = false, adobe = false;
  int adobe_transform = 0;
};

/// Updates `headers` by a segment; returns false if it makes the JPEG unsuitable.
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

/// Reads all segments up to the first scan; returns false if they are damaged or unsuitable.
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

/// By markers, or by the component ids of JFIF; libjpeg uses them in this order.
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
