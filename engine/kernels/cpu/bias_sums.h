#pragma once

#include <algorithm>

#include "core/tensor.h"
#include "core/threads/threads.h"
#include "kernels/cpu/bfloat16.h"

namespace cortado::kernels {

/// bias = (`add`: bias +) the sums of dy, a blocked16 tensor, over all images and positions.
template <typename T>
void sum_bias(Context& context, const TensorSpec& spec, const T* dy, float* bias, bool add) {
  const int64_t images = spec.shape[0], channels = spec.shape[1], places = spec.shape.count(2);
  const int64_t blocks = (channels + kLanes - 1) / kLanes;
  parallel_ranges(context, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      Vec16f sum{};
      for (int64_t image = 0; image < images; ++image) {
        Vec16f of_image{};  // partial sums lose fewer small terms
        const T* from = dy + (image * blocks + block) * places * kLanes;
        for (int64_t i = 0; i < places; ++i) of_image += load(from + i * kLanes);
        sum += of_image;
      }
      float* to = bias + block * kLanes;
      const int count = int(std::min<int64_t>(kLanes, channels - block * kLanes));
      store_some(to, add ? load_some(to, count) + sum : sum, count);
    }
  });
}

}  // namespace cortado::kernels
