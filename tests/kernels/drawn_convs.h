#pragma once

// Drawn shapes of convolutions: few channels, windows that lie in the padding, uneven strides and dilation, where
// kernels of libraries were wrong. CORTADO_DRAWS=N draws N times as many.

#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "core/rng.h"
#include "kernels/conv.h"

namespace cortado::kernels::testing {

inline int64_t pick(RandomStream& random, std::initializer_list<int64_t> values) {
  return values.begin()[random.below(values.size())];
}

inline ConvAxis drawn_axis(RandomStream& random) {
  for (;;) {
    const int64_t in = 1 + int64_t(random.below(uint64_t(pick(random, {2, 4, 8, 20})))),
                  kernel = pick(random, {1, 1, 2, 3, 3, 4, 5, 7}), stride = pick(random, {1, 1, 1, 2, 3}),
                  pad = int64_t(random.below(uint64_t(pick(random, {1, 2, 3, 8})))),
                  dilation = pick(random, {1, 1, 1, 2, 3});
    const ConvAxis axis{in, kernel, stride, pad, dilation};
    if (axis.extent() <= in + 2 * pad) return axis;
  }
}

/// Two spatial axes, plain. Of several groups each has `group_channels` channels, or one.
inline std::vector<ConvShape> drawn_convs(int count, uint64_t key, std::initializer_list<int64_t> group_channels) {
  const char* times = std::getenv("CORTADO_DRAWS");
  RandomStream random(key);
  std::vector<ConvShape> list;
  for (int i = 0; i < count * (times ? std::atoi(times) : 1); ++i) {
    ConvShape s{.n = pick(random, {1, 1, 2, 3}), .h = drawn_axis(random), .w = drawn_axis(random)};
    switch (random.below(5)) {
      case 0:  // depthwise
        s.c = s.k = s.groups = pick(random, {3, 16, 20, 32});
        break;
      case 1:
        s.groups = pick(random, {2, 4});
        s.c = s.groups * pick(random, group_channels);
        s.k = s.groups * pick(random, group_channels);
        break;
      default:
        s.c = pick(random, {1, 2, 3, 4, 8, 16, 17, 24, 32});
        s.k = pick(random, {1, 4, 8, 16, 20, 32, 48});
    }
    list.push_back(s);
  }
  return list;
}

}  // namespace cortado::kernels::testing
