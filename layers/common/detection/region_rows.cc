#include "layers/common/detection/region_rows.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace cortado {

bool divides_by_smaller(const std::string& nms_type, const std::string& field) {
  if (nms_type != "IOU" && nms_type != "IOMU")
    throw FieldError(field + ".nms_type", "it is '" + nms_type + "', but must be IOU or IOMU");
  return nms_type == "IOMU";
}

void require_number(float value, const std::string& field) {
  if (std::isnan(value)) throw FieldError(field, "it is NaN");
}

int64_t RegionLimits::most(int64_t images, int64_t boxes) const {
  for (const int64_t limit : {considered, rule.most})
    if (limit > 0) boxes = std::min(boxes, limit);
  return std::max<int64_t>(1, checked_mul(images, boxes));
}

void RegionRows::begin(Context& context, const Operands& io) {
  rows_ = row_stage_.begin(context, io.y[0].f32(), 5 * most_);
  scored_ = tops_ > 1 ? scored_stage_.begin(context, io.y[1].f32(), 6 * most_) : nullptr;
  std::fill_n(rows_, 5 * most_, 0.0f);
  if (scored_) std::fill_n(scored_, 6 * most_, 0.0f);
  live_ = 0;
}

void RegionRows::add(int64_t image, const std::vector<Box>& boxes, const std::vector<float>& scores,
                     const RegionLimits& limits) {
  const auto order = best_first(scores.data(), int64_t(scores.size()), -INFINITY, limits.considered);
  for (const int k : suppress(boxes.data(), order, limits.rule)) {
    const Box& box = boxes[size_t(k)];
    const float row[6] = {float(image), box.x0, box.y0, box.x1, box.y1, scores[size_t(k)]};
    std::copy_n(row, 5, rows_ + 5 * live_);
    if (scored_) std::copy_n(row, 6, scored_ + 6 * live_);
    ++live_;
  }
}

void RegionRows::finish(Context& context) {
  if (live_ == 0) {
    const float none[5] = {0, 1, 1, 10, 10};
    std::copy_n(none, 5, rows_);
    live_ = 1;
  }
  row_stage_.commit(context);
  if (scored_) scored_stage_.commit(context);
}

std::vector<Shape> RegionRows::shapes() const {
  if (tops_ > 1) return {{live_, 5}, {live_, 6}};
  return {{live_, 5}};
}

}  // namespace cortado
