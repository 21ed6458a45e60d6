#pragma once

// Label images, which have a label for each pixel of an image. They follow the image's geometry, and are read at its
// result's size or at a smaller one. Labels are never interpolated.

#include <cstdint>
#include <vector>

#include "data/augment/augment_params.h"

namespace cortado::data {

/// The size of the label map of a result.
struct LabelMapPlan {
  bool on = false;
  int divisor = 1;            ///< rows and columns of the result for each of the map
  int height = 0, width = 0;  ///< or this size, if not 0

  int rows(int64_t of_result) const { return height > 0 ? height : int(of_result / divisor); }
  int columns(int64_t of_result) const { return width > 0 ? width : int(of_result / divisor); }
};

constexpr int16_t kNoLabel = -1;

/// The label at the centre of each position of the map, 0 to 255; kNoLabel outside of the image. `labels` covers the
/// source, in any size. `params` are those of the draw, before resolve_params().
void carry_labels(const AugmentParams& params, const Sample& labels, const LabelMapPlan& plan,
                  std::vector<int16_t>& carried);

}  // namespace cortado::data
