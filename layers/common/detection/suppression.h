#pragma once

// Greedy non-maximum suppression of boxes, on the host.

#include <cstdint>
#include <vector>

#include "core/box.h"

namespace cortado {

struct SuppressionRule {
  float threshold = 0.5f;  ///< boxes that overlap a better one by more are dropped
  float eta = 1;      ///< factor of the threshold after each box that stays, while the threshold is above 0.5 (SSD)
  float border = 0;   ///< as in core/box.h
  int64_t most = -1;  ///< the maximum number of boxes that stay; -1: all
  bool by_smaller =
      false;  ///< the intersection is divided by the smaller of the two boxes, not by their union (MS-CNN)
};

/// The indices of the `most` largest of `scores` above `least`, largest first, stable; -1: all of them. NaN is never
/// above.
std::vector<int> best_first(const float* scores, int64_t count, float least, int64_t most);

/// Those of `order`, best first, that stay. Complexity: order.size() times the number that stays.
std::vector<int> suppress(const Box* boxes, const std::vector<int>& order, const SuppressionRule& rule);

}  // namespace cortado
