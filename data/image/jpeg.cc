// Decoding of whole JPEGs. Two costs of malicious files are limited: the size (from the header), and the number of
// scans, because each progressive scan is a pass over the image.
#include "data/image/jpeg.h"

#include "data/image/color.h"
#include "data/image/jpeg_state.h"

namespace cortado::data {

namespace {

constexpr int kMaxScans = 500;

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  JpegTrap& trap = JpegTrap::of(info);
  std::snprintf(trap.message, sizeof trap.message, "it has more than %d scans", kMaxScans);
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

bool ImageDecoder::Jpeg::State::header(std::string_view file, ColorMode mode) {
  if (setjmp(trap.jump)) return false;
  jpeg_abort_decompress(&info);  // for a file that was opened but not read
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&info, TRUE);
  info.out_color_space = output_space(info, mode);
  info.scale_num = info.scale_denom = 8;
  ends_well = file.substr(file.size() - 2) == "\xFF\xD9";
  return true;
}

bool ImageDecoder::Jpeg::State::pixels(uint8_t* out, size_t row_bytes) {
  if (setjmp(trap.jump)) return false;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = out + size_t(info.output_scanline) * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

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
  const bool too_large = int64_t(out.height) * out.width > kMaxPixels;
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

}  // namespace cortado::data
