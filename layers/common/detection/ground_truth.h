#pragma once

// Objects as AnnotatedData gives them: a row of eight numbers for each (its image in the batch, label, number among
// those of its label, the corners of its box in parts of the image, whether it is difficult). Rows whose image is below
// 0 stand for nothing.

#include <cstdint>
#include <vector>

#include "core/box.h"

namespace cortado {

constexpr int64_t kTruthWidth = 8;

struct Truth {
  int label;
  Box box;
  bool difficult;
};

/// Sorts `count` rows by images; `truths` has one list for each. A row of an image that is not there, or whose label or
/// box is not finite, is left out.
void sort_truths(const float* rows, int64_t count, std::vector<std::vector<Truth>>& truths);

/// Which truth each of some boxes stands for.
struct BoxMatch {
  static constexpr int kNone = -1, kLeftOut = -2;
  int truth = kNone;
  float overlap = 0;  ///< with the truth that it overlaps most
};

struct MatchRule {
  bool per_box = true;  ///< besides each truth's best box, every box that overlaps a truth by `threshold`
  float threshold = 0.5f;
  bool inside_only = false;  ///< boxes that reach beyond the image are left out
};

/// Matches boxes with truths, SSD's way: the pair that overlaps most, then the pair that does among the others, until
/// no truth is left; then, per_box, each other box with the truth that it overlaps most. matches[i].truth may say
/// kLeftOut before: such boxes stay so.
void match_boxes(const std::vector<Box>& boxes, const std::vector<Truth>& truths, const MatchRule& rule,
                 std::vector<BoxMatch>& matches);

}  // namespace cortado
