// PNGs, written by libpng. Each row holds what differs from the row above (filter 2, "up"): fast, and what suits
// pictures of flat colours. The compressor's options are all given, so the same pixels give the same bytes.
#include "data/image/png.h"

#include <png.h>
#include <zlib.h>

#include <csetjmp>
#include <utility>

namespace cortado::data {

namespace {

constexpr size_t kChunkBytes = size_t(1) << 20;  // smaller ones cost 12 bytes each and tell nothing

/// libpng's writer. It reports errors by longjmp: no object with a destructor lives in a frame that is jumped out of.
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

}  // namespace cortado::data
