#pragma once

// Index arithmetic of plain and channels-last tensors, for functors that compute the positions of their operands.

#include <cstdint>
#include <string>

#include "core/host_device.h"
#include "core/loops/divisor.h"
#include "core/tensor.h"

namespace cortado::kernels {

/// The index of a value of an N x C x H x W tensor.
struct PlaneIndex {
  int64_t n, c, h, w;
};

/// The geometry of such a tensor, in either layout.
struct Planes {
  int64_t n, c, h, w;
  bool last;  ///< channels-last, else plain
  Divisor fastest = Divisor(last ? c : w), second = Divisor(last ? w : h), third = Divisor(last ? h : c);

  CORTADO_HD int64_t count() const { return n * c * h * w; }
  CORTADO_HD int64_t at(const PlaneIndex& i) const {
    return last ? ((i.n * h + i.h) * w + i.w) * c + i.c : ((i.n * c + i.c) * h + i.h) * w + i.w;
  }
  /// The index of the value stored at i.
  CORTADO_HD PlaneIndex stored(int64_t i) const {
    const int64_t a = fastest.of(i), b = second.of(a), n_ = third.of(b);
    const int64_t x = i - a * fastest.value(), y = a - b * second.value(), z = b - n_ * third.value();
    return last ? PlaneIndex{n_, x, z, y} : PlaneIndex{n_, z, y, x};
  }
};

/// For N x C x any: axes after the third are merged with it; missing axes are 1.
inline Planes planes_of(const TensorSpec& spec) {
  const Shape& s = spec.shape;
  const auto extent = [&](int axis) { return axis < s.axes() ? s[axis] : 1; };
  const int64_t w = s.axes() > 3 ? s.count(3) : 1;
  return {extent(0), extent(1), extent(2), w, spec.layout == Layout::kChannelsLast};
}

/// Whether the plain candidates support the layout; if not, sets `why`.
inline bool is_plane_layout(Layout layout, std::string& why) {
  if (layout != Layout::kBlocked16) return true;
  why = "blocked layouts are for the CPU";
  return false;
}

}  // namespace cortado::kernels
