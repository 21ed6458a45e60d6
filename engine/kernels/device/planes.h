#pragma once

// Where the values of a tensor lie, for functors that find their operands themselves: plain or channels-last storage.

#include <cstdint>
#include <string>

#include "core/host_device.h"
#include "core/loops/divisor.h"
#include "core/tensor.h"

namespace cortado::kernels {

/// One value of an N x C x H x W tensor.
struct PlaneIndex {
  int64_t n, c, h, w;
};

/// The geometry of such a tensor, in either storage.
struct Planes {
  int64_t n, c, h, w;
  bool last;  ///< channels-last, else plain
  Divisor fastest = Divisor(last ? c : w), second = Divisor(last ? w : h), third = Divisor(last ? h : c);

  CORTADO_HD int64_t count() const { return n * c * h * w; }
  CORTADO_HD int64_t at(const PlaneIndex& i) const {
    return last ? ((i.n * h + i.h) * w + i.w) * c + i.c : ((i.n * c + i.c) * h + i.h) * w + i.w;
  }
  /// The value that is stored i-th.
  CORTADO_HD PlaneIndex stored(int64_t i) const {
    const int64_t a = fastest.of(i), b = second.of(a), n_ = third.of(b);
    const int64_t x = i - a * fastest.value(), y = a - b * second.value(), z = b - n_ * third.value();
    return last ? PlaneIndex{n_, x, z, y} : PlaneIndex{n_, z, y, x};
  }
};

/// N x C x anything: axes behind the third are one with it; axes that are missing are 1.
inline Planes planes_of(const TensorSpec& spec) {
  const Shape& s = spec.shape;
  const auto extent = [&](int axis) { return axis < s.axes() ? s[axis] : 1; };
  const int64_t w = s.axes() > 3 ? s.count(3) : 1;
  return {extent(0), extent(1), extent(2), w, spec.layout == Layout::kChannelsLast};
}

/// Whether the plain candidates take a tensor stored so; else `why` not.
inline bool is_plane_layout(Layout layout, std::string& why) {
  if (layout != Layout::kBlocked16) return true;
  why = "blocks are for the CPU";
  return false;
}

}  // namespace cortado::kernels
