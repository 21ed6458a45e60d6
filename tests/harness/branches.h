#pragma once

// Labels of MS-CNN's branches (layers/common/losses/branch_labels.h) for tests.

#include "tests/harness/layer_harness.h"

namespace cortado::harness {

struct BranchObject {
  size_t image, place;
  double label, x, y, w, h;
};

/// Labels of background without overlap, except at the objects' positions.
inline Array branch_labels_of(int64_t images, int64_t height, int64_t width, const std::vector<BranchObject>& objects) {
  Array labels({images, 6, height, width});
  const size_t places = size_t(height * width);
  for (const BranchObject& o : objects) {
    const double numbers[] = {o.label, o.x, o.y, o.w, o.h, 0.7};
    for (size_t i = 0; i < 6; ++i) labels[(o.image * 6 + i) * places + o.place] = numbers[i];
  }
  return labels;
}

}  // namespace cortado::harness
