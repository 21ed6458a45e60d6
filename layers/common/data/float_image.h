#pragma once

// Planar images of floats that layers transform on the host: crops, and affine motions with OpenCV's interpolation.
// Positions are exact here; OpenCV rounds those of affine motions to 1/32 of a pixel.

#include <cstdint>
#include <vector>

#include "core/context.h"
#include "data/augment/affine.h"

namespace cortado {

struct FloatImage {
  int64_t channels = 0, height = 0, width = 0;
  std::vector<float> values;  ///< channels x height x width

  void resize(int64_t c, int64_t h, int64_t w);  ///< keeps capacity; new values are unspecified
  float* plane(int64_t channel) { return values.data() + channel * height * width; }
  const float* plane(int64_t channel) const { return values.data() + channel * height * width; }
};

/// How values between pixels and outside of the image are made.
struct Sampling {
  bool cubic = true;        ///< cubic convolution with a = -0.75 (Keys 1981); else bilinear
  bool repeat_edge = true;  ///< outside of the image: the nearest pixel; else `fill`
  float fill = 0;
};

/// Pixel (x, y) of the result, height x width, is that at back(x, y) of the image. Pixels have their index as position.
void warp(Context& context, const FloatImage& image, const data::Affine& back, const Sampling& sampling, int64_t height,
          int64_t width, FloatImage& result);

/// The map of cv::resize from the pixels of the result to those of the image.
data::Affine resize_back(const FloatImage& image, int64_t height, int64_t width);

/// The part of this size whose upper left pixel is (left, top) of the image, with `fill` outside of it.
void crop(const FloatImage& image, int64_t left, int64_t top, float fill, int64_t height, int64_t width,
          FloatImage& result);

/// Left to right.
void mirror(FloatImage& image);

}  // namespace cortado
