// Reads PNGs by libpng in the same way as OpenCV's imread(), which Caffe trains on. Palettes become colours, 16-bit
// samples lose the lower 8 bits, and alpha is dropped unless requested. libpng converts to grey and applies gAMA. A
// test compares the results with OpenCV's. Warnings of libpng (such as an invalid colour profile) do not affect pixels
// and are suppressed, because they would be printed to stderr for every file without its name.
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "data/image/png.h"

namespace cortado::data {

namespace {

/// libpng's reader. libpng reports errors by longjmp, so no object with a destructor may be in a stack frame that is
/// skipped. Functions that call libpng return false after an error.
struct PngReader {
  std::string_view rest;
  std::string message = "not enough memory";
  std::vector<png_bytep> rows;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);

  explicit PngReader(std::string_view file) : rest(file) {}
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }

  static void on_warning(png_structp, png_const_charp) {}

  [[noreturn]] static void on_error(png_structp png, png_const_charp what) {
    static_cast<PngReader*>(png_get_error_ptr(png))->message = what;
    png_longjmp(png, 1);
  }

  static void take(png_structp png, png_bytep to, size_t n) {
    std::string_view& rest = static_cast<PngReader*>(png_get_io_ptr(png))->rest;
    if (n > rest.size()) png_error(png, "it is truncated");
    std::memcpy(to, rest.data(), n);
    rest.remove_prefix(n);
  }

  bool read_header() {
    if (info == nullptr || setjmp(png_jmpbuf(png))) return false;
    png_set_read_fn(png, this, take);
    png_read_info(png, info);
    return true;
  }

  /// Number of channels of the stored image.
  int channels() const {
    const int type = png_get_color_type(png, info);
    if ((type & PNG_COLOR_MASK_ALPHA) != 0) return 4;
    if ((type & PNG_COLOR_MASK_COLOR) == 0) return 1;
    return png_get_valid(png, info, PNG_INFO_tRNS) != 0 ? 4 : 3;
  }

  /// Converts to 8-bit elements with this number of channels, blue first.
  bool convert_to(int channels) {
    if (setjmp(png_jmpbuf(png))) return false;
    const int type = png_get_color_type(png, info), bits = png_get_bit_depth(png, info);
    const bool coloured = (type & PNG_COLOR_MASK_COLOR) != 0;
    if (bits == 16) png_set_strip_16(png);
    if (channels == 4)
      png_set_tRNS_to_alpha(png);
    else
      png_set_strip_alpha(png);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (!coloured && bits < 8) png_set_expand_gray_1_2_4_to_8(png);
    if (channels == 1)
      png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    else if (coloured)
      png_set_bgr(png);
    else
      png_set_gray_to_rgb(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    return true;
  }

  bool read_rows() {
    if (setjmp(png_jmpbuf(png))) return false;
    png_read_image(png, rows.data());
    png_read_end(png, nullptr);
    return true;
  }

  void require(bool done) const {
    if (!done) throw SampleError("the PNG cannot be decoded: " + message);
  }
};

}  // namespace

bool is_png(std::string_view file) { return file.starts_with("\x89PNG\r\n\x1A\n"); }

void decode_png(std::string_view file, ColorMode mode, Image& out) {
  PngReader reader(file);
  reader.require(reader.read_header());
  const int64_t height = png_get_image_height(reader.png, reader.info),
                width = png_get_image_width(reader.png, reader.info);
  if (height * width > kMaxPixels)
    throw SampleError("the PNG cannot be decoded: it is " + std::to_string(height) + "x" + std::to_string(width) +
                      ", too large");
  if (mode == ColorMode::kAsStored && png_get_bit_depth(reader.png, reader.info) == 16)
    throw SampleError("the PNG cannot be decoded: its samples are not 8 bits wide");
  const int channels = mode == ColorMode::kAsStored ? reader.channels() : mode == ColorMode::kColor ? 3 : 1;
  reader.require(reader.convert_to(channels));
  const size_t row_bytes = size_t(width) * size_t(channels);
  if (png_get_rowbytes(reader.png, reader.info) != row_bytes)
    throw SampleError("the PNG cannot be decoded: its format differs from its header");
  out.resize(channels, int(height), int(width));
  for (int64_t y = 0; y < height; ++y) reader.rows.push_back(out.pixels.data() + size_t(y) * row_bytes);
  reader.require(reader.read_rows());
}

}  // namespace cortado::data
