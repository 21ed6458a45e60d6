#pragma once

// The reference of layers that resize linearly: the sum over all elements of x, most of which have weight 0.

#include "tests/harness/layer_harness.h"

namespace cortado::harness {

/// x with its last two axes resized to h x w. share(place, out, at, in) is the weight of element `at` of an axis with
/// `in` elements in element `place` of one with `out`.
template <typename Share>
Array resized_by_shares(const Array& x, int64_t h, int64_t w, const Share& share) {
  const int64_t height = x.shape[2], width = x.shape[3];
  Array y({x.shape[0], x.shape[1], h, w});
  for (int64_t i = 0; i < y.shape.count(); ++i)
    for (int64_t p = 0; p < height; ++p)
      for (int64_t q = 0; q < width; ++q)
        y[size_t(i)] += share(i / w % h, h, p, height) * share(i % w, w, q, width) *
                        x[size_t((i / (h * w) * height + p) * width + q)];
  return y;
}

}  // namespace cortado::harness
