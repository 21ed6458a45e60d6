#include "layers/common/detection/ground_truth.h"

#include <algorithm>
#include <cmath>

namespace cortado {

namespace {

constexpr float kLeastOverlap = 1e-6f;

bool reaches_beyond(const Box& box) { return box.x0 < 0 || box.y0 < 0 || box.x1 > 1 || box.y1 > 1; }

/// The pair of a free box and a free truth with the largest overlap.
struct Pair {
  size_t box = 0, truth = 0;
  float overlap = kLeastOverlap;
};

class Matching {
 public:
  Matching(const std::vector<Box>& boxes, const std::vector<Truth>& truths, std::vector<BoxMatch>& matches)
      : boxes_(boxes), truths_(truths), matches_(matches), best_(truths.size()) {}

  /// Scans all boxes once for each truth, and again if another truth took its best box.
  void match_truths() {
    for (size_t t = 0; t < truths_.size(); ++t) best_[t] = best_box(t);
    std::vector<bool> matched(truths_.size());
    for (size_t round = 0; round < truths_.size(); ++round) {
      Pair best;
      for (size_t t = 0; t < truths_.size(); ++t) {
        if (matched[t]) continue;
        if (best_[t].overlap > kLeastOverlap && matches_[best_[t].box].truth != BoxMatch::kNone) best_[t] = best_box(t);
        const bool better =
            best_[t].overlap > best.overlap ||
            (best_[t].overlap == best.overlap && best.overlap > kLeastOverlap && best_[t].box < best.box);
        if (better) best = best_[t];
      }
      if (best.overlap <= kLeastOverlap) return;
      matches_[best.box] = {int(best.truth), best.overlap};
      matched[best.truth] = true;
    }
  }

  void match_boxes(float threshold, bool set) {
    for (size_t i = 0; i < boxes_.size(); ++i) {
      if (matches_[i].truth != BoxMatch::kNone) continue;
      Pair best;
      for (size_t t = 0; t < truths_.size(); ++t) {
        const float overlap = box_overlap(boxes_[i], truths_[t].box);
        if (overlap > best.overlap) best = {i, t, overlap};
      }
      if (best.overlap <= kLeastOverlap) continue;
      matches_[i].overlap = best.overlap;
      if (set && best.overlap >= threshold) matches_[i].truth = int(best.truth);
    }
  }

 private:
  Pair best_box(size_t t) const {
    Pair best{0, t, kLeastOverlap};
    for (size_t i = 0; i < boxes_.size(); ++i) {
      if (matches_[i].truth != BoxMatch::kNone) continue;
      const float overlap = box_overlap(boxes_[i], truths_[t].box);
      if (overlap > best.overlap) best = {i, t, overlap};
    }
    return best;
  }

  const std::vector<Box>& boxes_;
  const std::vector<Truth>& truths_;
  std::vector<BoxMatch>& matches_;
  std::vector<Pair> best_;  ///< of each truth
};

}  // namespace

void sort_truths(const float* rows, int64_t count, std::vector<std::vector<Truth>>& truths) {
  for (std::vector<Truth>& of_image : truths) of_image.clear();
  for (const float* row = rows; row != rows + count * kTruthWidth; row += kTruthWidth) {
    const bool sound =
        std::all_of(row, row + kTruthWidth, [](float v) { return std::isfinite(v); }) && std::fabs(row[1]) < 1e9f;
    if (!sound || row[0] < 0 || row[0] >= float(truths.size())) continue;
    truths[size_t(row[0])].push_back({int(row[1]), {row[3], row[4], row[5], row[6]}, row[7] != 0});
  }
}

void match_boxes(const std::vector<Box>& boxes, const std::vector<Truth>& truths, const MatchRule& rule,
                 std::vector<BoxMatch>& matches) {
  matches.resize(boxes.size());
  if (rule.inside_only)
    for (size_t i = 0; i < boxes.size(); ++i)
      if (reaches_beyond(boxes[i])) matches[i].truth = BoxMatch::kLeftOut;
  Matching matching(boxes, truths, matches);
  matching.match_truths();
  matching.match_boxes(rule.threshold, rule.per_box);
}

}  // namespace cortado
