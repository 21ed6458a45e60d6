#include "data/image/color.h"

namespace cortado::data {

namespace {

/// In 14-bit fixed point, with OpenCV's rounding.
uint8_t gray_of(const uint8_t* bgr) { return uint8_t((bgr[0] * 1868 + bgr[1] * 9617 + bgr[2] * 4899 + 8192) >> 14); }

void to_gray(Image& image) {
  const size_t n = size_t(image.height) * size_t(image.width), step = size_t(image.channels);
  for (size_t i = 0; i < n; ++i) image.pixels[i] = gray_of(&image.pixels[i * step]);
  image.resize(1, image.height, image.width);
}

void gray_to_color(Image& image) {
  const size_t n = size_t(image.height) * size_t(image.width);
  image.resize(3, image.height, image.width);
  for (size_t i = n; i-- > 0;) {  // backwards, because unread pixels are before the written ones
    const uint8_t value = image.pixels[i];
    for (size_t c = 0; c < 3; ++c) image.pixels[3 * i + c] = value;
  }
}

void drop_alpha(Image& image) {
  const size_t n = size_t(image.height) * size_t(image.width);
  for (size_t i = 0; i < n; ++i)
    for (size_t c = 0; c < 3; ++c) image.pixels[3 * i + c] = image.pixels[4 * i + c];
  image.resize(3, image.height, image.width);
}

}  // namespace

void convert_color(Image& image, ColorMode mode) {
  if (mode == ColorMode::kGray && image.channels >= 3)
    to_gray(image);
  else if (mode == ColorMode::kColor && image.channels == 1)
    gray_to_color(image);
  else if (mode == ColorMode::kColor && image.channels == 4)
    drop_alpha(image);
}

void cmyk_to_bgr(Image& image, bool inverted) {
  const size_t n = size_t(image.height) * size_t(image.width);
  const int flip = inverted ? 0 : 255;
  for (size_t i = 0; i < n; ++i) {
    const uint8_t* ink = &image.pixels[4 * i];
    const int c = ink[0] ^ flip, m = ink[1] ^ flip, y = ink[2] ^ flip, k = ink[3] ^ flip;  // light after each ink
    uint8_t* bgr = &image.pixels[3 * i];
    bgr[0] = uint8_t((y * k + 127) / 255);
    bgr[1] = uint8_t((m * k + 127) / 255);
    bgr[2] = uint8_t((c * k + 127) / 255);
  }
  image.resize(3, image.height, image.width);
}

}  // namespace cortado::data
