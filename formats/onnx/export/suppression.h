#pragma once

// Non-maximum suppression with ONNX's operators, for layers that detect. Values that a step drops get the score
// kDropped, so that shapes stay fixed until the rows are collected. NonMaxSuppression gets ranks in place of scores. So
// the results depend neither on the order of its output, nor on how it breaks ties, nor on the signs of scores, and no
// tensor is empty, which OpenCV 5 does not survive.

#include <cfloat>
#include <string>
#include <vector>

#include "onnx/export/layer_writer.h"

namespace cortado::exporting {

constexpr float kDropped = -FLT_MAX;

/// The largest scores, and their places along the axis.
struct BestScores {
  std::string values, places;
};

/// The `count` largest of the last axis (axis `axis`), largest first; of equal ones the first.
BestScores best_scores(LayerWriter& layer, const std::string& scores, int64_t axis, int64_t count);

/// Rows `places` (B x K) of `values` (B x P x width), as B x K x width. `count` is K.
std::string rows_at(LayerWriter& layer, const std::string& values, const std::string& places, int64_t count);

struct Suppression {
  float threshold = 0;     ///< of the overlap, from 0 to 1
  float least = kDropped;  ///< scores that are not above it are dropped
  int64_t count = 0;       ///< K
  int64_t most = 0;        ///< boxes that stay, per row of scores
};

/// `scores` (B x K, largest first) with kDropped for each box that overlaps a better one of its row too much. `boxes`
/// are B x K x 4: two corners. Boxes without an area stay, and `most` does not count them.
std::string suppressed(LayerWriter& layer, const std::string& boxes, const std::string& scores,
                       const Suppression& rule);

/// All but the `count` largest of each row of `scores` (B x K) become kDropped.
std::string only_best(LayerWriter& layer, const std::string& scores, int64_t count);

/// The places in `scores` (B x K) that are not dropped, in order.
struct Found {
  std::string rows;    ///< S: the row of each
  std::string places;  ///< S x 2: row and column of each
};
Found find_kept(LayerWriter& layer, const std::string& scores);

/// values[row, column] for each found one.
std::string found_values(LayerWriter& layer, const Found& found, const std::string& values);

/// Finishes a layer whose y is 1 x 1 x S x 7: image, label, score and box of what `kept` (N x K) keeps. `labels` and
/// `scores` are N x K, `boxes` N x K x 4. Without any, y has one row for each image: its index, and values of -1.
struct DetectedBoxes {
  std::string kept, labels, scores, boxes;
  int64_t count;  ///< K
};
void finish_detections(LayerWriter& layer, const DetectedBoxes& all);

}  // namespace cortado::exporting
