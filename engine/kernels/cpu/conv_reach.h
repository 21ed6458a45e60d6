#pragma once

// Windows over images whose rows are stored one below the other, with padding, so that a tap is a constant distance
// between positions. A stride of s creates s x s such layouts, one for every s-th row and column. The padding after a
// line also serves as the padding before the next line if it is large enough.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/conv.h"

namespace cortado::kernels {

inline int64_t floor_of(int64_t a, int64_t b) { return (a - (a % b + b) % b) / b; }

/// The mapping of one output axis to the input: tap r at output o reads o * stride + distance(r). That is position o +
/// shift(r) among the elements phase(r), phase(r) + stride, ...
struct Reach {
  int64_t in, out, taps, stride, dilation, pad;
  int64_t first = 0, span = 0;       ///< the minimum shift, and the maximum relative to it
  int64_t pitch = 0;                 ///< positions between the starts of consecutive lines or images
  std::vector<int64_t> phases = {};  ///< the phases of the taps

  Reach(int64_t in_, int64_t out_, const ConvAxis& axis, bool turned)
      : in(in_),
        out(out_),
        taps(axis.kernel),
        stride(axis.stride),
        dilation(axis.dilation),
        pad(turned ? (axis.kernel - 1) * axis.dilation - axis.pad : axis.pad) {
    first = shift(0);
    span = shift(taps - 1) - first;
    for (int64_t r = 0; r < taps; ++r)
      if (std::find(phases.begin(), phases.end(), phase(r)) == phases.end()) phases.push_back(phase(r));
    for (pitch = out; pitch < out + span && !zeros_meet(); ++pitch) {
    }
  }
  int64_t distance(int64_t r) const { return r * dilation - pad; }
  int64_t shift(int64_t r) const { return floor_of(distance(r), stride); }
  int64_t phase(int64_t r) const { return distance(r) - shift(r) * stride; }
  int64_t phase_index(int64_t r) const { return std::find(phases.begin(), phases.end(), phase(r)) - phases.begin(); }
  /// The outputs of n images, including the positions between them.
  int64_t outputs(int64_t n) const { return (n - 1) * pitch + out; }
  /// The element at a position of phases[index]; outside [0, in) if there is none.
  int64_t element(int64_t place, int64_t index) const { return (place + first) * stride + phases[size_t(index)]; }

 private:
  /// Whether everything that windows read from the pitch on is after the end of the line, and before the start of the
  /// next one.
  bool zeros_meet() const {
    for (size_t i = 0; i < phases.size(); ++i)
      if (element(pitch, int64_t(i)) < in || element(out - 1 + span - pitch, int64_t(i)) >= 0) return false;
    return true;
  }
};

/// The layout that a tap reads, and the row-major position in it for the first output.
inline int64_t layout_of(const Reach& h, const Reach& w, int64_t r, int64_t t) {
  return h.phase_index(r) * int64_t(w.phases.size()) + w.phase_index(t);
}
inline int64_t place_of(const Reach& h, const Reach& w, int64_t r, int64_t t) {
  return (h.shift(r) - h.first) * w.pitch + w.shift(t) - w.first;
}

}  // namespace cortado::kernels
