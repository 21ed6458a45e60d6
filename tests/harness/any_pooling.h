#pragma once

// A reference for pooling over any number of axes, in double precision; the number of windows is rounded up as in
// Caffe.

#include <algorithm>
#include <cfloat>
#include <string>
#include <vector>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {

/// A window along one axis.
struct PoolingSide {
  int64_t kernel, stride = 1, pad = 0, dilation = 1;

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
};

/// The number of windows, by enumeration.
inline int64_t pooling_outputs(const PoolingSide& side, int64_t in) {
  int64_t n = 1;
  while ((n - 1) * side.stride + side.extent() < in + 2 * side.pad) ++n;
  if (side.pad > 0 && (n - 1) * side.stride >= in + side.pad) --n;
  return n;
}

/// Tests each position of any number of axes for being in the window.
inline Array pooled(const Array& x, const std::vector<PoolingSide>& sides, bool average) {
  Shape shape = x.shape;
  const int axes = int(sides.size());
  for (int a = 0; a < axes; ++a) shape[2 + a] = pooling_outputs(sides[size_t(a)], x.shape[2 + a]);
  Array y(shape);
  const int64_t in = x.shape.count(2), out = shape.count(2);
  for (int64_t o = 0; o < shape.count(); ++o) {
    double sum = 0, best = -DBL_MAX, size = 1;
    for (int64_t i = 0; i < in; ++i) {
      bool inside = true;
      int64_t at = i, to = o % out;
      size = 1;
      for (int a = axes - 1; a >= 0; --a) {
        const PoolingSide& s = sides[size_t(a)];
        const int64_t extent = x.shape[2 + a], place = at % extent, start = to % shape[2 + a] * s.stride - s.pad;
        inside = inside && place >= start && place < start + s.extent() && (place - start) % s.dilation == 0;
        int64_t values = 0;
        for (int64_t k = 0; k < s.kernel; ++k) values += start + k * s.dilation < extent + s.pad;
        size *= double(values);
        at /= extent, to /= shape[2 + a];
      }
      if (!inside) continue;
      sum += x[size_t(o / out * in + i)];
      best = std::max(best, x[size_t(o / out * in + i)]);
    }
    y[size_t(o)] = average ? sum / size : best;
  }
  return y;
}

/// Checks a layer of `type` with `message { pool: MAX or AVE OPTIONS }` against the reference.
inline void check_pooling(const std::string& type, const std::string& message, const std::string& options,
                          const Shape& shape, const std::vector<PoolingSide>& sides) {
  for (const bool average : {false, true}) {
    const std::string all = message + " { " + (average ? "pool: AVE " : "pool: MAX ") + options + " }";
    SCOPED_TRACE(all);
    check_layer(
        {.layer = "type: '" + type + "' " + all,
         .x = {distinct(shape, 3, 0.01)},
         .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {pooled(x[0], sides, average)}; }});
  }
}

}  // namespace cortado::harness
