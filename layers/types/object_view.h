#pragma once

// The crop and scale of the images of ImageGtData.

#include <cstdint>

#include "core/box.h"
#include "core/rng.h"

namespace cortado {

/// Along one axis: pixels [first, first + length) of the image are resized to `scaled` pixels; `copied` of these,
/// starting at `from`, are placed at `to` in the sample.
struct AxisView {
  int first, length, scaled, from, to, copied;
  float factor;

  float place(float at) const { return (at - float(first)) * factor + float(to - from); }
};

struct ObjectView {
  AxisView x, y;

  Box place(const Box& box) const { return {x.place(box.x0), y.place(box.y0), x.place(box.x1), y.place(box.y1)}; }
};

/// The smallest and the largest side of an object; no scaling if least is 0.
struct ObjectScales {
  float least = 0, most = 0;
};

/// A random factor that scales `box` to a side of least, sqrt(2) least, 2 least, ... or most, all equally likely. The
/// box's own side is rounded to the nearest of these by area, so the factor is a power of sqrt(2).
float draw_factor(const ObjectScales& scales, const Box& box, RandomStream& stream);

/// The view of `target` pixels around `centre` of an axis of `size` pixels, shifted by `noise` pixels.
AxisView view_axis(int size, int target, float centre, float factor, int noise);

}  // namespace cortado
