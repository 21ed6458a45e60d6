#pragma once

// A window over any number of spatial axes, by definition: the reference for faster implementations.

#include <cstdint>
#include <vector>

namespace cortado::harness {

struct WindowAxis {
  int64_t in, kernel, stride = 1, pad = 0, dilation = 1;
  int64_t out() const { return (in + 2 * pad - (dilation * (kernel - 1) + 1)) / stride + 1; }
};

/// Calls body(in, tap, out), row-major indices, for each element of each window that is inside the image, outermost
/// axis first.
template <typename Body>
void each_meeting(const std::vector<WindowAxis>& axes, const Body& body, size_t axis = 0, int64_t in = 0,
                  int64_t tap = 0, int64_t out = 0) {
  if (axis == axes.size()) return body(in, tap, out);
  const WindowAxis& a = axes[axis];
  for (int64_t o = 0; o < a.out(); ++o)
    for (int64_t k = 0; k < a.kernel; ++k) {
      const int64_t at = o * a.stride - a.pad + k * a.dilation;
      if (at >= 0 && at < a.in)
        each_meeting(axes, body, axis + 1, in * a.in + at, tap * a.kernel + k, out * a.out() + o);
    }
}

/// The product of `extent` over all axes.
template <typename Extent>
int64_t places(const std::vector<WindowAxis>& axes, const Extent& extent) {
  int64_t product = 1;
  for (const WindowAxis& a : axes) product *= extent(a);
  return product;
}

}  // namespace cortado::harness
