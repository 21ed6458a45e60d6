#include "layers/common/detection/detection_rows.h"

#include <algorithm>

namespace cortado {

void DetectionRows::begin(Context& context, float* y, int64_t most) {
  first_ = next_ = stage_.begin(context, y, most * kDetectionWidth);
  end_ = first_ + most * kDetectionWidth;
}

void DetectionRows::add(int64_t image, int64_t label, float score, const Box& box) {
  const float row[] = {float(image), float(label), score, box.x0, box.y0, box.x1, box.y1};
  next_ = std::copy_n(row, kDetectionWidth, next_);
}

int64_t DetectionRows::finish(Context& context, int64_t images) {
  if (next_ == first_)
    for (int64_t image = 0; image < images; ++image) add(image, -1, -1, {-1, -1, -1, -1});
  std::fill(next_, end_, 0.0f);
  stage_.commit(context);
  return (next_ - first_) / kDetectionWidth;
}

}  // namespace cortado
