#pragma once

// Axis-aligned boxes in images, given by two corners in any unit. `border` is added to the difference of the corners to
// get a side: 0 if corners are coordinates, 1 if they are inclusive pixel indices (as in Faster R-CNN).

#include <algorithm>
#include <cmath>

#include "core/host_device.h"

namespace cortado {

struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;  ///< left, top, right, bottom
  bool operator==(const Box&) const = default;
};

CORTADO_HD inline float box_width(const Box& box, float border = 0) { return box.x1 - box.x0 + border; }
CORTADO_HD inline float box_height(const Box& box, float border = 0) { return box.y1 - box.y0 + border; }

/// 0 for a box with x1 < x0 or y1 < y0.
CORTADO_HD inline float box_area(const Box& box, float border = 0) {
  const float width = box_width(box, border), height = box_height(box, border);
  return width > 0 && height > 0 ? width * height : 0;
}

/// The intersection; its area is 0 if the boxes are disjoint.
CORTADO_HD inline Box common_part(const Box& a, const Box& b) {
  return {fmaxf(a.x0, b.x0), fmaxf(a.y0, b.y0), fminf(a.x1, b.x1), fminf(a.y1, b.y1)};
}

/// Intersection over union (the Jaccard index); 0 if the boxes are disjoint.
CORTADO_HD inline float box_overlap(const Box& a, const Box& b, float border = 0) {
  const float common = box_area(common_part(a, b), border);
  return common > 0 ? common / (box_area(a, border) + box_area(b, border) - common) : 0;
}

/// The fraction of the area of `box` that `cover` covers.
CORTADO_HD inline float box_coverage(const Box& box, const Box& cover) {
  const float area = box_area(box);
  return area > 0 ? box_area(common_part(box, cover)) / area : 0;
}

/// The box clipped to [0, width] x [0, height].
CORTADO_HD inline Box clipped(const Box& box, float width = 1, float height = 1) {
  return {fminf(fmaxf(box.x0, 0), width), fminf(fmaxf(box.y0, 0), height), fminf(fmaxf(box.x1, 0), width),
          fminf(fmaxf(box.y1, 0), height)};
}

}  // namespace cortado
