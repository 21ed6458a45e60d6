#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "tests/harness/array.h"

namespace cortado::harness {

/// For an image of three channels, made from one of height x width pixels whose channels are the column, the row and
/// 200: the source of pixel (x, y), column m[0] x + m[1] y + m[2] and row m[3] x + m[4] y + m[5]. By least squares over
/// pixels that are not near an edge.
inline std::vector<double> fit_motion(const Array& image, double height, double width) {
  std::vector<double> found;
  const int64_t columns = image.shape[3];
  const size_t pixels = size_t(image.shape[2] * columns);
  for (size_t c = 0; c < 2; ++c) {
    double a[3][4] = {};
    for (size_t p = 0; p < pixels; ++p) {
      const double row[] = {double(int64_t(p) % columns), double(int64_t(p) / columns), 1, image[c * pixels + p]};
      const double x = image[p], y = image[pixels + p];
      const bool inner = x > 4 && x < width - 5 && y > 4 && y < height - 5;
      if (!inner || std::fabs(image[2 * pixels + p] - 200) > 1e-2) continue;
      for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 4; ++j) a[i][j] += row[i] * row[j];
    }
    for (size_t i = 0; i < 3; ++i)
      for (size_t k = 0; k < 3; ++k) {
        const double factor = k == i ? 0 : a[k][i] / a[i][i];
        for (size_t j = 0; j < 4; ++j) a[k][j] -= factor * a[i][j];
      }
    for (size_t i = 0; i < 3; ++i) found.push_back(a[i][3] / a[i][i]);
  }
  return found;
}

/// OpenCV's cubic convolution of a row.
inline double cubic_at(double at, const std::function<double(int)>& pixel) {
  double sum = 0;
  for (int i = int(std::floor(at)) - 1; i <= int(std::floor(at)) + 2; ++i) {
    const double d = std::fabs(at - i), a = -0.75;
    const double weight = d <= 1  ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                          : d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a
                                  : 0;
    sum += weight * pixel(i);
  }
  return sum;
}

}  // namespace cortado::harness
