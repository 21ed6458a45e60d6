#include "layers/common/detection/suppression.h"

#include <algorithm>
#include <cfloat>

namespace cortado {

std::vector<int> best_first(const float* scores, int64_t count, float least, int64_t most) {
  std::vector<int> order;
  for (int64_t i = 0; i < count; ++i)
    if (scores[i] > least) order.push_back(int(i));
  const auto better = [scores](int a, int b) { return scores[a] > scores[b] || (scores[a] == scores[b] && a < b); };
  if (most >= 0 && most < int64_t(order.size())) {
    std::nth_element(order.begin(), order.begin() + most, order.end(), better);
    order.resize(size_t(most));
  }
  std::sort(order.begin(), order.end(), better);
  return order;
}

namespace {

// fmaxf and fminf, including NaN, without a call: loops over these are vectorized.
inline float larger(float a, float b) { return ((a > b) | (b != b)) ? a : b; }
inline float smaller(float a, float b) { return ((a < b) | (b != b)) ? a : b; }

/// The boxes that stay, corner by corner. A box is compared with several of them at a time, bit-identical to
/// core/box.h.
class KeptBoxes {
 public:
  explicit KeptBoxes(const SuppressionRule& rule) : rule_(rule) {}

  void add(const Box& box) {
    if (count_ % kTogether == 0) grow();
    x0_[count_] = box.x0, y0_[count_] = box.y0, x1_[count_] = box.x1, y1_[count_] = box.y1;
    area_[count_++] = box_area(box, rule_.border);
  }

  /// Whether `box` overlaps one of them by more than the threshold.
  bool any_overlaps(const Box& box, float threshold) const {
    const float area = box_area(box, rule_.border);
    for (size_t first = 0; first < count_; first += kTogether)
      if (rule_.by_smaller ? overlaps<true>(first, box, area, threshold) : overlaps<false>(first, box, area, threshold))
        return true;
    return false;
  }

 private:
  static constexpr size_t kTogether = 16;

  /// Adds space, initialized with boxes that overlap nothing.
  void grow() {
    for (std::vector<float>* begin : {&x0_, &y0_}) begin->resize(count_ + kTogether, FLT_MAX);
    for (std::vector<float>* end : {&x1_, &y1_}) end->resize(count_ + kTogether, -FLT_MAX);
    area_.resize(count_ + kTogether, 0);
  }

  template <bool by_smaller>
  bool overlaps(size_t first, const Box& box, float area, float threshold) const {
    int found = 0;
    for (size_t k = first; k < first + kTogether; ++k) {
      const float width = smaller(box.x1, x1_[k]) - larger(box.x0, x0_[k]) + rule_.border;
      const float height = smaller(box.y1, y1_[k]) - larger(box.y0, y0_[k]) + rule_.border;
      const float common = ((width > 0) & (height > 0)) ? width * height : 0;
      const float whole = by_smaller ? std::min(area, area_[k]) : area + area_[k] - common;
      found |= common / (common > 0 ? whole : 1) > threshold;
    }
    return found != 0;
  }

  const SuppressionRule rule_;
  size_t count_ = 0;
  std::vector<float> x0_, y0_, x1_, y1_, area_;
};

}  // namespace

std::vector<int> suppress(const Box* boxes, const std::vector<int>& order, const SuppressionRule& rule) {
  std::vector<int> kept;
  KeptBoxes kept_boxes(rule);
  float threshold = rule.threshold;
  for (const int i : order) {
    if (rule.most >= 0 && int64_t(kept.size()) >= rule.most) break;
    if (kept_boxes.any_overlaps(boxes[i], threshold)) continue;
    kept.push_back(i);
    kept_boxes.add(boxes[i]);
    if (rule.eta < 1 && threshold > 0.5f) threshold *= rule.eta;
  }
  return kept;
}

}  // namespace cortado
