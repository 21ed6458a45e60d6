// Decodes a window of a JPEG. All codes in the file up to the window's last row have to be read, but only blocks that
// overlap the window are transformed and colour-converted. Nothing after the window is read. Columns are decoded with a
// margin, because chroma is interpolated from neighbours and the result must be bit for bit that of the whole image. An
// image that will be reduced to at most half its size is decoded at 1/2, 1/4 or 1/8 of its scale, for which
// libjpeg-turbo has fast code.
#include <algorithm>

#include "data/image/jpeg_state.h"

namespace cortado::data {

namespace {

constexpr int kMargin = 4;  // columns: two chroma samples at half resolution

/// The smallest of 1, 2, 4 and 8 eighths at which the window is at least as large as its result.
int eighths_for(const SourceWindow& window) {
  int eighths = 8;
  while (eighths > 1 && window.height * (eighths / 2) >= 8 * window.out_height &&
         window.width * (eighths / 2) >= 8 * window.out_width)
    eighths /= 2;
  return eighths;
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace

bool ImageDecoder::Jpeg::State::start(int eighths) {
  if (setjmp(trap.jump)) return false;
  info.scale_num = unsigned(eighths);
  jpeg_start_decompress(&info);
  return true;
}

bool ImageDecoder::Jpeg::State::choose_columns(int first, int last) {
  if (setjmp(trap.jump)) return false;
  JDIMENSION from = JDIMENSION(std::max(first - kMargin, 0));
  JDIMENSION to = std::min(JDIMENSION((last + kMargin + 2) & ~1), info.output_width), columns = to - from;
  if (columns < info.output_width)
    jpeg_crop_scanline(&info, &from, &columns);
  else
    from = 0;
  first_column = int(from);
  return true;
}

bool ImageDecoder::Jpeg::State::rows(int first, int count, uint8_t* out) {
  if (setjmp(trap.jump)) return false;
  if (first > 0) jpeg_skip_scanlines(&info, JDIMENSION(first));
  const size_t row_bytes = size_t(info.output_width) * size_t(info.output_components);
  while (info.output_scanline < JDIMENSION(first + count)) {
    JSAMPROW row = out + size_t(int(info.output_scanline) - first) * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_abort_decompress(&info);
  return true;
}

bool ImageDecoder::Jpeg::open(std::string_view file, ColorMode mode, Sample& out) {
  Image extents;
  read_header(file, mode, extents);
  out = extents.sample();
  out.bytes = nullptr;
  return state_->info.out_color_space != JCS_CMYK && state_->ends_well;
}

SamplePart ImageDecoder::Jpeg::read(const SourceWindow& window, const PixelPlace& place) {
  jpeg_decompress_struct& info = state_->info;
  const int eighths = eighths_for(window);
  if (!state_->start(eighths)) state_->fail();
  const auto scaled_down = [&](int at) { return at * eighths / 8; };
  const auto scaled_up = [&](int at, JDIMENSION most) { return std::min(ceil_div(at * eighths, 8), int(most)); };
  const int top = scaled_down(window.top), bottom = scaled_up(window.top + window.height, info.output_height);
  if (!state_->choose_columns(scaled_down(window.left), scaled_up(window.left + window.width, info.output_width) - 1))
    state_->fail();
  SamplePart part;
  part.sample = {info.output_components, bottom - top, int(info.output_width), nullptr, nullptr, true};
  uint8_t* pixels = place(size_t(part.sample.count()));
  part.sample.bytes = pixels;
  const int whole = 8 / eighths;
  part.part = {top * whole, state_->first_column * whole, part.sample.height * whole, part.sample.width * whole};
  if (!state_->rows(top, bottom - top, pixels)) state_->fail();
  return part;
}

}  // namespace cortado::data
