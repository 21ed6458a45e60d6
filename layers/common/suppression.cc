#include "layers/common/suppression.h"

#include <algorithm>

namespace cortado {

std::vector<int> best_first(const float* scores, int64_t count, float least, int64_t most) {
  std::vector<int> order;
  for (int64_t i = 0; i < count; ++i)
    if (scores[i] > least) order.push_back(int(i));
  const auto better = [scores](int a, int b) { return scores[a] > scores[b] || (scores[a] == scores[b] && a < b); };
  if (most >= 0 && most < int64_t(order.size())) {
    std::partial_sort(order.begin(), order.begin() + most, order.end(), better);
    order.resize(size_t(most));
  } else {
    std::sort(order.begin(), order.end(), better);
  }
  return order;
}

namespace {

float overlap(const Box& a, const Box& b, const SuppressionRule& rule) {
  if (!rule.by_smaller) return box_overlap(a, b, rule.border);
  const float common = box_area(common_part(a, b), rule.border);
  return common > 0 ? common / std::min(box_area(a, rule.border), box_area(b, rule.border)) : 0;
}

}  // namespace

std::vector<int> suppress(const Box* boxes, const std::vector<int>& order, const SuppressionRule& rule) {
  std::vector<int> kept;
  float threshold = rule.threshold;
  for (const int i : order) {
    if (rule.most >= 0 && int64_t(kept.size()) >= rule.most) break;
    const auto overlaps = [&](int k) { return overlap(boxes[i], boxes[k], rule) > threshold; };
    if (std::any_of(kept.begin(), kept.end(), overlaps)) continue;
    kept.push_back(i);
    if (rule.eta < 1 && threshold > 0.5f) threshold *= rule.eta;
  }
  return kept;
}

}  // namespace cortado
