#pragma once

// Gaussian filters over the pixels of an image, for fully connected conditional random fields (Kraehenbuehl and Koltun
// 2011): the distance of two pixels is that of their positions, or of positions and colours. On the host, by
// layers/common/loops/permutohedral.h. Values are pixels x channels.

#include <cstdint>
#include <vector>

#include "layers/common/loops/permutohedral.h"

namespace cortado {

constexpr int kPixelColors = 3;

/// The space in which distances of pixels are measured.
struct PixelSpace {
  int64_t height, width;         ///< of the used part, from the upper left corner
  int64_t pitch, plane;          ///< elements of a row and of a channel of the image
  float xy_std;                  ///< standard deviation of the position, in pixels
  const float* image = nullptr;  ///< kPixelColors channels; null: only the position
  float color_std = 1;
};

class PixelGaussian {
 public:
  void place(Context& context, const PixelSpace& space);

  /// out = the filtered values; or those of the transposed filter, which differs by the order of its steps.
  void filter(Context& context, const float* values, int64_t channels, float* out, bool transposed = false) {
    lattice_.filter(context, values, channels, out, transposed);
  }
  /// The filtered values of an image of ones, for a mean.
  const std::vector<float>& sums() const { return sums_; }

 private:
  Permutohedral lattice_;
  std::vector<float> features_, ones_, sums_;
};

/// q = the softmax of each pixel's `classes` scores.
void softmax_of_pixels(Context& context, const float* scores, int64_t pixels, int64_t classes, float* q);

}  // namespace cortado
