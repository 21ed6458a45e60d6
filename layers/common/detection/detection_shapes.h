#pragma once

// The shapes of SSD's offsets, scores and priors, for the layers that read them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/box.h"
#include "core/device/host_view.h"
#include "core/shape.h"

namespace cortado {

struct DetectionShapes {
  int64_t images = 0, priors = 0, classes = 0;
  int64_t codes = 1;    ///< boxes per prior: 1, or one for each class
  int64_t numbers = 4;  ///< offsets per box
  int64_t offsets_of_an_image() const { return numbers * priors * codes; }
};

/// From x[0] (offsets, N x numbers P codes), x[1] (scores, N x P classes) and x[2] (priors, 1 x 2 x 4 P). `param` is
/// the name of the options message with num_classes and share_location. Throws FieldError.
DetectionShapes detection_shapes(const std::vector<Shape>& x, const std::string& param, int64_t classes,
                                 bool share_location, int64_t numbers = 4);

/// Throws FieldError unless x[i] has two scores and x[i + 1] four offsets for each prior of each image.
void require_anchors(const std::vector<Shape>& x, int64_t i, const DetectionShapes& shapes);

// Writes detections as rows of image, label, score and the box's left, top, right and bottom edge, then other numbers
// of the box, if there are any. Without detections in the whole batch, writes one row for each image: its index, then
// values of -1. Zeros follow the last row.

constexpr int64_t kDetectionWidth = 7;

class DetectionRows {
 public:
  /// For up to `most` rows at `y`, in the memory of the context's device.
  void begin(Context& context, float* y, int64_t most, int64_t width = kDetectionWidth);
  /// `more`: the width - kDetectionWidth other numbers.
  void add(int64_t image, int64_t label, float score, const Box& box, std::span<const float> more = {});
  /// The number of rows, including those of a batch of `images` without detections.
  int64_t finish(Context& context, int64_t images);

 private:
  HostStage stage_;
  int64_t width_ = kDetectionWidth;
  float *first_ = nullptr, *next_ = nullptr, *end_ = nullptr;
};

}  // namespace cortado
