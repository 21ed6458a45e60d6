#pragma once

// A window of a tensor: Crop copies it, MergeCrop adds its channels to another tensor's.

#include <cstdint>
#include <vector>

#include "core/host_device.h"
#include "core/shape.h"

namespace cortado {

/// The position of a window in a tensor x, whose rows are runs of the last axis. Adjacent axes that are not cropped are
/// merged.
struct CropWindow {
  int axes = 0;                      ///< without the last one
  int64_t whole[Shape::kMaxAxes]{};  ///< extents of x
  int64_t part[Shape::kMaxAxes]{};   ///< of the window
  int64_t offset[Shape::kMaxAxes]{};
  int64_t width = 1, part_width = 1, start = 0;  ///< the last axis

  /// The start of the window's row r in x.
  CORTADO_HD int64_t row_in_x(int64_t r) const {
    int64_t row = 0, pitch = 1;
    for (int a = axes - 1; a >= 0; --a) {
      row += (r % part[a] + offset[a]) * pitch;
      r /= part[a];
      pitch *= whole[a];
    }
    return row * width + start;
  }
  /// The row of the window that is row r of x, or -1.
  CORTADO_HD int64_t row_of_window(int64_t r) const {
    int64_t row = 0, pitch = 1;
    for (int a = axes - 1; a >= 0; --a) {
      const int64_t at = r % whole[a] - offset[a];
      if (at < 0 || at >= part[a]) return -1;
      row += at * pitch;
      r /= whole[a];
      pitch *= part[a];
    }
    return row;
  }
};

/// The window of shape `part` in x, at `offsets` on the last axes; the axes before them are whole.
inline CropWindow crop_window(const Shape& x, const Shape& part, const std::vector<int64_t>& offsets) {
  const int axes = x.axes(), first = axes - int(offsets.size());
  CropWindow window;
  if (axes == 0) return window;
  window.width = x[axes - 1], window.part_width = part[axes - 1];
  window.start = offsets.empty() ? 0 : offsets.back();
  if (first > 0 && first < axes) {
    window.whole[0] = window.part[0] = x.count(0, first);
    window.axes = 1;
  }
  for (int a = first; a < axes - 1; ++a) {
    window.whole[window.axes] = x[a];
    window.part[window.axes] = part[a];
    window.offset[window.axes++] = offsets[size_t(a - first)];
  }
  return window;
}

}  // namespace cortado
