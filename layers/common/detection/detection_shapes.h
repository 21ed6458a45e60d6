#pragma once

// What layers that read SSD's offsets, scores and priors agree on.

#include <cstdint>
#include <string>
#include <vector>

#include "core/box.h"
#include "core/device/host_view.h"
#include "core/shape.h"

namespace cortado {

struct DetectionShapes {
  int64_t images = 0, priors = 0, classes = 0;
  int64_t codes = 1;  ///< boxes of a prior: 1, or one for each class
  int64_t offsets_of_an_image() const { return 4 * priors * codes; }
};

/// Of x[0] (offsets, N x 4 P codes), x[1] (scores, N x P classes) and x[2] (priors, 1 x 2 x 4 P). Throws FieldError;
/// `param` is the name of the options that have num_classes and share_location.
DetectionShapes detection_shapes(const std::vector<Shape>& x, const std::string& param, int64_t classes,
                                 bool share_location);

/// Throws FieldError unless x[i] holds two scores, x[i + 1] four offsets for each prior of each image.
void require_anchors(const std::vector<Shape>& x, int64_t i, const DetectionShapes& shapes);

// Detections as layers give them: rows of image, label, score and the box's left, top, right and bottom edge. Where
// there is none in a whole batch, one row for each image, its number before values of -1. Zeros follow the last row.

constexpr int64_t kDetectionWidth = 7;

class DetectionRows {
 public:
  /// For up to `most` rows at `y`, in the memory of the context's device.
  void begin(Context& context, float* y, int64_t most);
  void add(int64_t image, int64_t label, float score, const Box& box);
  /// The number of rows, those of a batch of `images` without detections included.
  int64_t finish(Context& context, int64_t images);

 private:
  HostStage stage_;
  float *first_ = nullptr, *next_ = nullptr, *end_ = nullptr;
};

}  // namespace cortado
