// Numbers are rounded in the same places as in Caffe, in float, so that the results are equal. One difference: a mean
// image that is not square is cropped at its centre in both directions; Caffe uses the column's offset for rows, too.
#include "data/sources/window_warp.h"

#include <algorithm>
#include <cmath>

namespace cortado::data {

namespace {

/// A window along one axis, including its last pixel.
struct Span {
  int first, last;
  int length() const { return last - first + 1; }
};

Span widened_span(float middle, float half, float scale) {
  static constexpr float kFarthest = 1 << 29;
  const auto pixel = [](float at) { return int(std::clamp(std::round(at), -kFarthest, kFarthest)); };
  return {pixel(middle - half * scale), pixel(middle + half * scale)};
}

/// The placement along one axis.
struct Placed {
  Span seen;          ///< the visible part of the image
  int before, after;  ///< pixels of the result outside of the image
  int length;         ///< length of the visible part in the result
};

Placed placed(const Span& span, int size, int crop) {
  const int outside_before = std::max(0, -span.first), outside_after = std::max(0, span.last - size + 1);
  const Span seen{span.first + outside_before, span.last - outside_after};
  if (seen.length() < 1) throw SampleError("a window is outside of the image");
  const float scale = float(crop) / float(span.length());
  const auto scaled = [scale](int pixels) { return int(std::round(float(pixels) * scale)); };
  return {seen, scaled(outside_before), scaled(outside_after), scaled(seen.length())};
}

}  // namespace

WarpPlace place_window(const Window& window, const WarpOptions& options, bool mirror, int height, int width) {
  Span x{window.x1, window.x2}, y{window.y1, window.y2};
  if (options.context_pad == 0 && !options.square) {
    if (x.first < 0 || y.first < 0 || x.last >= width || y.last >= height)
      throw SampleError("the image is " + std::to_string(height) + "x" + std::to_string(width) + ", but the window " +
                            std::to_string(x.first) + " " + std::to_string(y.first) + " " + std::to_string(x.last) +
                            " " + std::to_string(y.last) + " extends beyond it",
                        "use corners x1 y1 x2 y2, counted from 0");
    return {{y.first, x.first, y.length(), x.length()}, 0, 0, options.crop, options.crop};
  }
  const float scale = float(options.crop) / float(options.crop - 2 * options.context_pad);
  float half_h = float(y.length()) / 2, half_w = float(x.length()) / 2;
  const float middle_x = float(x.first) + half_w, middle_y = float(y.first) + half_h;
  if (options.square) half_h = half_w = std::max(half_h, half_w);
  const Placed across = placed(widened_span(middle_x, half_w, scale), width, options.crop);
  const Placed down = placed(widened_span(middle_y, half_h, scale), height, options.crop);
  const int top = std::min(down.before, options.crop),
            left = std::min(mirror ? across.after : across.before, options.crop);
  return {{down.seen.first, across.seen.first, down.seen.length(), across.seen.length()},
          top,
          left,
          std::min(down.length, options.crop - top),
          std::min(across.length, options.crop - left)};
}

void warp_window(const Image& part, const WarpPlace& place, const WarpOptions& options, bool mirror,
                 const WarpValues& values, Image& warped, float* out) {
  const int crop = options.crop, channels = part.channels;
  std::fill(out, out + int64_t(channels) * crop * crop, 0.0f);
  if (place.height < 1 || place.width < 1) return;
  resize_bilinear(part, place.height, place.width, warped);
  const MeanImage* mean = values.mean.get();
  const int mean_top = mean ? (mean->height - crop) / 2 : 0, mean_left = mean ? (mean->width - crop) / 2 : 0;
  for (int c = 0; c < channels; ++c) {
    const float flat = values.mean_values.empty()       ? 0
                       : values.mean_values.size() == 1 ? values.mean_values[0]
                                                        : values.mean_values[size_t(c)];
    for (int h = 0; h < place.height; ++h) {
      const int row = place.top + h;
      const uint8_t* from = &warped.pixels[size_t(h) * size_t(place.width) * size_t(channels)];
      const float* mean_row =
          mean ? &mean->values[(size_t(c) * size_t(mean->height) + size_t(mean_top + row)) * size_t(mean->width) +
                               size_t(mean_left + place.left)]
               : nullptr;
      float* to = out + (int64_t(c) * crop + row) * crop + place.left;
      for (int w = 0; w < place.width; ++w) {
        const int column = mirror ? place.width - 1 - w : w;
        to[w] = (float(from[column * channels + c]) - (mean_row ? mean_row[w] : flat)) * values.scale;
      }
    }
  }
}

}  // namespace cortado::data
