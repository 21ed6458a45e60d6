#pragma once

// Windows over images whose rows are laid out below each other, with what the windows reach beyond them: so a tap is a
// distance between places. A stride of s makes s x s such layouts, of every s-th row and column. What a window reaches
// behind a line's end is the zeros before the next line where there are enough of them.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/conv.h"

namespace cortado::kernels {

inline int64_t floor_of(int64_t a, int64_t b) { return (a - (a % b + b) % b) / b; }

/// How one axis of the output reads the input: tap r at output o reads o * stride + distance(r), which is place o +
/// shift(r) of every stride-th element from phase(r) on.
struct Reach {
  int64_t in, out, taps, stride, dilation, pad;
  int64_t first = 0, span = 0;       ///< the least shift, and the largest over it
  int64_t pitch = 0;                 ///< places from one line's, or image's, first to the next one's
  std::vector<int64_t> phases = {};  ///< those that taps have

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
  /// Outputs of n images, with the places between them.
  int64_t outputs(int64_t n) const { return (n - 1) * pitch + out; }
  /// The element at a place of phases[index]; outside [0, in) where there is none.
  int64_t element(int64_t place, int64_t index) const { return (place + first) * stride + phases[size_t(index)]; }

 private:
  /// Whether all that windows read from the pitch on lies behind the line, and its like in the next line before that.
  bool zeros_meet() const {
    for (size_t i = 0; i < phases.size(); ++i)
      if (element(pitch, int64_t(i)) < in || element(out - 1 + span - pitch, int64_t(i)) >= 0) return false;
    return true;
  }
};

/// The layout that a tap reads, and the place in it, row by row, that it reads for the first output.
inline int64_t layout_of(const Reach& h, const Reach& w, int64_t r, int64_t t) {
  return h.phase_index(r) * int64_t(w.phases.size()) + w.phase_index(t);
}
inline int64_t place_of(const Reach& h, const Reach& w, int64_t r, int64_t t) {
  return (h.shift(r) - h.first) * w.pitch + w.shift(t) - w.first;
}

}  // namespace cortado::kernels
