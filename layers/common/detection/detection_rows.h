#pragma once

// Detections as layers give them: rows of image, label, score and the box's left, top, right and bottom edge. Where
// there is none in a whole batch, one row for each image, its number before values of -1. Zeros follow the last row.

#include "core/box.h"
#include "core/device/host_view.h"

namespace cortado {

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
