#pragma once

#include <algorithm>

#include "core/device/stream_copy.h"
#include "data/augment/transform.h"

namespace cortado::data {

/// transform() for every kind of draw, row by row, with the arithmetic of data/augment/augment.h. The draw must be
/// resolved for the sample.
void transform_rows(const Sample& sample, const TransformPlan& plan, const AugmentParams& params, float* out);

float mean_value(const TransformPlan& plan, int channel);  ///< 0 without mean values
const float* mean_at(const MeanImage& mean, int channel, int64_t row, int64_t column);

/// Writes rows to a sample's memory. Large samples bypass the caches, because a batch of them does not fit.
class RowWriter {
 public:
  explicit RowWriter(int64_t floats) : streams_(floats * 4 >= kLarge) {}
  ~RowWriter() {
    if (streams_) stream_end();
  }
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;
  void write(const float* row, int n, float* out) const {
    if (streams_)
      stream_copy(row, out, n);
    else
      std::copy(row, row + n, out);
  }

 private:
  static constexpr int64_t kLarge = 256 << 10;
  bool streams_;
};

}  // namespace cortado::data
