// libjpeg reports errors by longjmp here: no object with a destructor lives in a frame that is jumped out of. Two
// things a file can do to us are bounded: its size (checked from the header) and its scans (each progressive scan costs
// a pass over the image). libjpeg only warns when data is missing and paints the rest grey; such warnings are errors
// here.
#include "data/jpeg.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// jerror.h numbers its codes by what jpeglib.h defines, so their order counts.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include "data/color.h"

namespace cortado::data {

namespace {

constexpr int kMostScans = 500;

/// What both directions share: where to jump, and what to say.
struct ErrorTrap {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};

  static ErrorTrap& of(j_common_ptr info) { return *static_cast<ErrorTrap*>(info->client_data); }

  [[noreturn]] static void on_error(j_common_ptr info) {
    ErrorTrap& trap = of(info);
    info->err->format_message(info, trap.message);
    std::longjmp(trap.jump, 1);
  }

  static void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
      case JWRN_HIT_MARKER:
      case JWRN_JPEG_EOF:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_ARITH_BAD_CODE:
      case JWRN_MUST_RESYNC:
        on_error(info);
      default:
        break;  // odd, but nothing is lost
    }
  }

  static void on_output(j_common_ptr) {}

  void attach(j_common_ptr info) {
    info->err = jpeg_std_error(&manager);
    info->client_data = this;
    manager.error_exit = on_error;
    manager.emit_message = on_message;
    manager.output_message = on_output;
  }
};

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMostScans) return;
  ErrorTrap& trap = ErrorTrap::of(info);
  std::snprintf(trap.message, sizeof trap.message, "it has more than %d scans", kMostScans);
  std::longjmp(trap.jump, 1);
}

bool is_cmyk(const jpeg_decompress_struct& info) {
  return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
}

J_COLOR_SPACE output_space(const jpeg_decompress_struct& info, ColorMode mode) {
  if (is_cmyk(info)) return JCS_CMYK;
  const bool gray =
      mode == ColorMode::kGray || (mode == ColorMode::kAsStored && info.jpeg_color_space == JCS_GRAYSCALE);
  return gray ? JCS_GRAYSCALE : JCS_EXT_BGR;
}

}  // namespace

bool is_jpeg(std::string_view file) { return file.substr(0, 3) == "\xFF\xD8\xFF"; }

struct ImageDecoder::Jpeg::State {
  ErrorTrap trap;
  jpeg_progress_mgr progress = {};
  jpeg_decompress_struct info = {};

  bool header(std::string_view file, ColorMode mode) {
    if (setjmp(trap.jump)) return false;
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), static_cast<unsigned long>(file.size()));
    jpeg_read_header(&info, TRUE);
    info.out_color_space = output_space(info, mode);
    return true;
  }

  bool pixels(uint8_t* out, size_t row_bytes) {
    if (setjmp(trap.jump)) return false;
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = out + size_t(info.output_scanline) * row_bytes;
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    return true;
  }

  [[noreturn]] void fail() {
    jpeg_abort_decompress(&info);
    throw SampleError(std::string("the JPEG cannot be decoded: ") + trap.message);
  }
};

ImageDecoder::Jpeg::Jpeg() : state_(std::make_unique<State>()) {
  state_->trap.attach(reinterpret_cast<j_common_ptr>(&state_->info));
  if (setjmp(state_->trap.jump)) throw SampleError(std::string("libjpeg: ") + state_->trap.message);
  jpeg_create_decompress(&state_->info);
  state_->progress.progress_monitor = on_progress;
  state_->info.progress = &state_->progress;
}

ImageDecoder::Jpeg::~Jpeg() { jpeg_destroy_decompress(&state_->info); }

void ImageDecoder::Jpeg::read_header(std::string_view file, ColorMode mode, Image& out) {
  const jpeg_decompress_struct& info = state_->info;
  if (!state_->header(file, mode)) state_->fail();
  out.height = int(info.image_height);
  out.width = int(info.image_width);
  out.channels = info.out_color_space == JCS_GRAYSCALE || mode == ColorMode::kGray ? 1 : 3;
  const bool too_large = int64_t(out.height) * out.width > kMostPixels;
  if (too_large)
    std::snprintf(state_->trap.message, sizeof state_->trap.message, "it is %dx%d, too large", out.height, out.width);
  if (too_large) state_->fail();
}

void ImageDecoder::Jpeg::decode(std::string_view file, ColorMode mode, Image& out) {
  read_header(file, mode, out);
  jpeg_decompress_struct& info = state_->info;
  const bool cmyk = info.out_color_space == JCS_CMYK;
  out.resize(cmyk ? 4 : out.channels, out.height, out.width);
  if (!state_->pixels(out.pixels.data(), size_t(out.width) * size_t(out.channels))) state_->fail();
  if (cmyk) cmyk_to_bgr(out, info.saw_Adobe_marker != 0);
  convert_color(out, mode);
}

namespace {

/// The compressor and the buffer that libjpeg allocates for its output.
struct Compressor {
  ErrorTrap trap;
  jpeg_compress_struct info = {};
  unsigned char* buffer = nullptr;
  unsigned long size = 0;

  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(buffer);
  }

  bool run(const Image& image, int quality) {
    trap.attach(reinterpret_cast<j_common_ptr>(&info));
    if (setjmp(trap.jump)) return false;
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &buffer, &size);
    info.image_width = JDIMENSION(image.width);
    info.image_height = JDIMENSION(image.height);
    info.input_components = image.channels;
    info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_EXT_BGR;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
      const size_t row_bytes = size_t(image.width) * size_t(image.channels);
      auto* row = const_cast<JSAMPROW>(image.pixels.data() + info.next_scanline * row_bytes);
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    return true;
  }
};

}  // namespace

std::string encode_jpeg(const Image& image, int quality) {
  if (image.channels != 1 && image.channels != 3)
    throw SampleError("an image of " + std::to_string(image.channels) + " channels cannot be a JPEG");
  Compressor compressor;
  if (!compressor.run(image, quality)) throw SampleError(std::string("libjpeg: ") + compressor.trap.message);
  return std::string(reinterpret_cast<const char*>(compressor.buffer), compressor.size);
}

}  // namespace cortado::data
