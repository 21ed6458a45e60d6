#include "layers/common/loops/pixel_gaussian.h"

#include <algorithm>
#include <cmath>

#include "core/threads/threads.h"

namespace cortado {

void PixelGaussian::place(Context& context, const PixelSpace& space) {
  features_.clear();
  for (int64_t h = 0; h < space.height; ++h)
    for (int64_t w = 0; w < space.width; ++w) {
      features_.insert(features_.end(), {float(w) / space.xy_std, float(h) / space.xy_std});
      for (int64_t c = 0; c < kPixelColors && space.image; ++c)
        features_.push_back(space.image[c * space.plane + h * space.pitch + w] / space.color_std);
    }
  lattice_.place(features_, space.image ? 2 + kPixelColors : 2);
  ones_.assign(size_t(space.height * space.width), 1.0f);
  sums_.resize(ones_.size());
  lattice_.filter(context, ones_.data(), 1, sums_.data());
}

void softmax_of_pixels(Context& context, const float* scores, int64_t pixels, int64_t classes, float* q) {
  parallel_ranges(context, pixels, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* from = scores + i * classes;
      float *to = q + i * classes, most = from[0], sum = 0;
      for (int64_t c = 1; c < classes; ++c) most = std::max(most, from[c]);
      for (int64_t c = 0; c < classes; ++c) sum += to[c] = std::exp(from[c] - most);
      for (int64_t c = 0; c < classes; ++c) to[c] /= sum;
    }
  });
}

}  // namespace cortado
