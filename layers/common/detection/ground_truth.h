#pragma once

// Objects in AnnotatedData's format: a row of eight numbers for each. The numbers are the image in the batch, label,
// instance, the corners of the box relative to the image's size, and whether it is difficult. Rows with an image below
// 0 are unused.

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

/// Sorts `count` rows by image; `truths` has one list for each image. Drops rows with an invalid image, and those whose
/// label or box is not finite.
void sort_truths(const float* rows, int64_t count, std::vector<std::vector<Truth>>& truths);

/// The truth that a box is matched to.
struct BoxMatch {
  static constexpr int kNone = -1, kLeftOut = -2;
  int truth = kNone;
  float overlap = 0;  ///< with the truth that overlaps most
};

struct MatchRule {
  bool per_box = true;  ///< match not only each truth's best box, but every box with an overlap of at least `threshold`
  float threshold = 0.5f;
  bool inside_only = false;  ///< ignore boxes that extend beyond the image
};

/// Matches boxes with truths as in SSD: repeatedly the free pair that overlaps most, until no truth is left; then, if
/// per_box, each other box with the truth that overlaps most. Boxes with matches[i].truth == kLeftOut on entry stay
/// unmatched.
void match_boxes(const std::vector<Box>& boxes, const std::vector<Truth>& truths, const MatchRule& rule,
                 std::vector<BoxMatch>& matches);

}  // namespace cortado
