#pragma once

// The inputs of a convolution's result positions per axis, without copies. Forward reads x at multiples of the stride.
// In backward_data, which reads dy, positions of dx modulo the stride form phases with their own taps.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/conv.h"
#include "kernels/cpu/blocked_product.h"
#include "kernels/cpu/floats.h"

namespace cortado::kernels {

/// One input axis for result positions `step_out` apart. Position j of `count` is element first + j * step_out of the
/// result. For tap `index` it reads element j * step_in + offset. Offsets of successive taps are monotonic.
struct AxisPhase {
  struct Tap {
    int64_t index, offset;
  };
  int64_t first = 0, count = 0, step_out = 1, step_in = 1;
  std::vector<Tap> taps;
};

/// Forward: every position reads every tap.
inline std::vector<AxisPhase> forward_phases(const ConvAxis& a) {
  AxisPhase phase{.first = 0, .count = a.out(), .step_out = 1, .step_in = a.stride, .taps = {}};
  for (int64_t r = 0; r < a.kernel; ++r) phase.taps.push_back({r, r * a.dilation - a.pad});
  return {phase};
}

/// Backward_data: tap r adds dy at o to dx at i if o * stride = i + pad - r * dilation.
inline std::vector<AxisPhase> backward_phases(const ConvAxis& a) {
  std::vector<AxisPhase> phases;
  for (int64_t first = 0; first < std::min(a.stride, a.in); ++first) {
    AxisPhase phase{
        .first = first, .count = ceil_of(a.in - first, a.stride), .step_out = a.stride, .step_in = 1, .taps = {}};
    for (int64_t r = 0; r < a.kernel; ++r) {
      const int64_t distance = first + a.pad - r * a.dilation;
      if (distance % a.stride == 0) phase.taps.push_back({r, distance / a.stride});
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

/// The outputs of one axis for which a tap is inside the image: output o of [begin, end) reads o * stride + offset.
struct TapSpan {
  int64_t begin, end, offset;
};
inline TapSpan span_of(const ConvAxis& a, int64_t tap) {
  const int64_t offset = tap * a.dilation - a.pad;
  const int64_t begin = offset >= 0 ? 0 : ceil_of(-offset, a.stride);
  const int64_t end = a.in - 1 - offset < 0 ? 0 : (a.in - 1 - offset) / a.stride + 1;
  return {std::min(begin, a.out()), std::clamp(end, std::min(begin, a.out()), a.out()), offset};
}

/// Whether the convolution has two spatial axes and blocked x and y; if not, sets `why`.
inline bool takes_blocked_images(const ConvShape& s, std::string& why) {
  if (!takes(s.dtype, why)) return false;
  if (s.spatial_axes != 2) return why = "not two spatial axes", false;
  if (s.x_layout != Layout::kBlocked16 || s.y_layout != Layout::kBlocked16) return why = "not in blocks", false;
  return true;
}

/// Whether there are elements, and the weights can be blocked; if not, sets `why`.
inline bool takes_blocked_weights(const ConvRequest& request, std::string& why) {
  if (request.shape.x().shape.count() == 0) return why = "no elements", false;
  if (request.w_format && !request.w_format->is_blocked16()) return why = "unsupported weight format", false;
  return true;
}

}  // namespace cortado::kernels
