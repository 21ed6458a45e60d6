#pragma once

// Greedy suppression of boxes that overlap better ones (non-maximum suppression), on the host.

#include <cstdint>
#include <vector>

#include "core/box.h"

namespace cortado {

struct SuppressionRule {
  float threshold = 0.5f;   ///< a box that overlaps one that stays by more is dropped
  float eta = 1;            ///< factor of the threshold after each box that stays, while it is above 0.5 (SSD)
  float border = 0;         ///< of core/box.h
  int64_t most = -1;        ///< so many stay; -1: all
  bool by_smaller = false;  ///< what two cover is divided by the smaller of them, not by what either covers (MS-CNN)
};

/// The places in `boxes` of the `most` largest of `scores` that are above `least`, largest first, equal ones in their
/// order; -1: all of them. NaN is above nothing.
std::vector<int> best_first(const float* scores, int64_t count, float least, int64_t most);

/// Of `order`, best first, those that stay. Work grows with order.size() times the number that stays.
std::vector<int> suppress(const Box* boxes, const std::vector<int>& order, const SuppressionRule& rule);

}  // namespace cortado
