#pragma once

// Which part of an image ImageGtData shows, and how large.

#include <cstdint>

#include "core/box.h"
#include "core/rng.h"

namespace cortado {

/// Along one axis: pixels [first, first + length) of the image, brought to `scaled` pixels, of which `copied` from
/// `from` on stand at `to` of the sample.
struct AxisView {
  int first, length, scaled, from, to, copied;
  float factor;

  float place(float at) const { return (at - float(first)) * factor + float(to - from); }
};

struct ObjectView {
  AxisView x, y;

  Box place(const Box& box) const { return {x.place(box.x0), y.place(box.y0), x.place(box.x1), y.place(box.y1)}; }
};

/// Least and largest side of an object; none where least is 0.
struct ObjectScales {
  float least = 0, most = 0;
};

/// A factor by which `box` gets one of the sides least, sqrt(2) least, 2 least, ... most, all equally likely. The box
/// is taken to have the one nearest to it in area, so the factor is a power of sqrt(2), too.
float draw_factor(const ObjectScales& scales, const Box& box, RandomStream& stream);

/// What shows the place `centre` of an axis of `size` pixels in `wanted` pixels, `noise` pixels off.
AxisView view_axis(int size, int wanted, float centre, float factor, int noise);

}  // namespace cortado
