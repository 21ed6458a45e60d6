// Compares suppress() with the greedy rule, computed pair by pair with the formulas of core/box.h. The same boxes must
// stay, also with many boxes, and with swapped, equal or NaN corners.

#include "layers/common/detection/suppression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace cortado {
namespace {

float overlap(const Box& a, const Box& b, const SuppressionRule& rule) {
  if (!rule.by_smaller) return box_overlap(a, b, rule.border);
  const float common = box_area(common_part(a, b), rule.border);
  return common > 0 ? common / std::min(box_area(a, rule.border), box_area(b, rule.border)) : 0;
}

std::vector<int> pair_by_pair(const std::vector<Box>& boxes, const std::vector<int>& order,
                              const SuppressionRule& rule) {
  std::vector<int> kept;
  float threshold = rule.threshold;
  for (const int i : order) {
    if (rule.most >= 0 && int64_t(kept.size()) >= rule.most) break;
    bool stays = true;
    for (const int k : kept) stays &= !(overlap(boxes[size_t(i)], boxes[size_t(k)], rule) > threshold);
    if (!stays) continue;
    kept.push_back(i);
    if (rule.eta < 1 && threshold > 0.5f) threshold *= rule.eta;
  }
  return kept;
}

/// Boxes of up to a third of the image; one in ten with a special corner.
std::vector<Box> drawn_boxes(int count, std::mt19937& random) {
  const float special[] = {NAN, INFINITY, -INFINITY, 0.0f, 3e38f, -0.2f};
  std::uniform_real_distribution<float> place(0, 1), side(0, 0.33f);
  std::vector<Box> boxes;
  for (int i = 0; i < count; ++i) {
    Box box{place(random), place(random), 0, 0};
    box.x1 = box.x0 + side(random), box.y1 = box.y0 + side(random);
    float* const corners[] = {&box.x0, &box.y0, &box.x1, &box.y1};
    if (random() % 10 == 0) *corners[random() % 4] = special[random() % 6];
    boxes.push_back(box);
    if (random() % 10 == 0) boxes.push_back(box);
  }
  return boxes;
}

TEST(Suppression, IsTheGreedyRule) {
  std::mt19937 random(1);
  size_t most_kept = 0;
  for (const SuppressionRule& rule :
       {SuppressionRule{.threshold = 0.45f}, SuppressionRule{.threshold = 0}, SuppressionRule{.threshold = 1},
        SuppressionRule{.threshold = 0.9f, .eta = 0.97f}, SuppressionRule{.threshold = 0.3f, .border = 0.01f},
        SuppressionRule{.threshold = 0.6f, .most = 20}, SuppressionRule{.threshold = 0.5f, .by_smaller = true}}) {
    const std::vector<Box> boxes = drawn_boxes(300, random);
    std::vector<int> order;
    for (int i = int(boxes.size()) - 1; i >= 0; --i) order.push_back(i);
    const std::vector<int> kept = suppress(boxes.data(), order, rule);
    EXPECT_EQ(kept, pair_by_pair(boxes, order, rule)) << rule.threshold;
    most_kept = std::max(most_kept, kept.size());
  }
  EXPECT_GT(most_kept, 100u);
}

TEST(Suppression, AcceptsNoBoxes) { EXPECT_TRUE(suppress(nullptr, {}, {}).empty()); }

TEST(BestFirst, MatchesAFullSort) {
  std::mt19937 random(2);
  std::vector<float> scores;
  for (int i = 0; i < 500; ++i) scores.push_back(random() % 20 == 0 ? NAN : float(random() % 40) / 40);
  std::vector<int> whole;
  for (int i = 0; i < 500; ++i)
    if (scores[size_t(i)] > 0.1f) whole.push_back(i);
  std::stable_sort(whole.begin(), whole.end(), [&](int a, int b) { return scores[size_t(a)] > scores[size_t(b)]; });
  EXPECT_EQ(best_first(scores.data(), 500, 0.1f, -1), whole);
  for (const int most : {0, 1, 77, int(whole.size()), 1000}) {
    const size_t count = std::min(size_t(most), whole.size());
    EXPECT_EQ(best_first(scores.data(), 500, 0.1f, most),
              std::vector<int>(whole.begin(), whole.begin() + int64_t(count)))
        << most;
  }
}

}  // namespace
}  // namespace cortado
