#pragma once

// Detected boxes as regions, for layers whose tops are R x 5 (common/regions.h) and, optionally, R x 6 with the score
// appended. The number of rows depends on the values (layers/roles.h). Without any box there is one row, in image 0
// from (1, 1) to (10, 10), and the R x 6 is 0.

#include <cstdint>
#include <string>
#include <vector>

#include "core/box.h"
#include "core/device/host_view.h"
#include "layers/common/detection/suppression.h"
#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

/// Whether overlaps are divided by the smaller box: "IOU" or "IOMU". Throws FieldError(field + ".nms_type").
bool divides_by_smaller(const std::string& nms_type, const std::string& field);

/// Throws FieldError(field) if `value` is NaN.
void require_number(float value, const std::string& field);

struct RegionLimits {
  SuppressionRule rule;
  int64_t considered = -1;  ///< the number of best boxes of an image that are looked at; -1: all

  /// The most rows that `boxes` boxes of each of `images` images become.
  int64_t most(int64_t images, int64_t boxes) const;
};

/// From nms_type, fg_thr, iou_thr, max_nms_num and max_post_nms_num of the message `field`. Throws FieldError.
template <typename Param>
RegionLimits region_limits(const Param& param, const std::string& field, float border) {
  require_number(param.fg_thr(), field + ".fg_thr");
  require_number(param.iou_thr(), field + ".iou_thr");
  const auto or_all = [](uint32_t count) { return count > 0 ? int64_t(count) : -1; };
  return {.rule = {.threshold = param.iou_thr(),
                   .border = border,
                   .most = or_all(param.max_post_nms_num()),
                   .by_smaller = divides_by_smaller(param.nms_type(), field)},
          .considered = or_all(param.max_nms_num())};
}

class RegionRows {
 public:
  /// For at most `most` rows. `tops` is 1 or 2.
  void reserve(int64_t most, int tops) { most_ = live_ = most, tops_ = tops; }
  void begin(Context& context, const Operands& io);
  /// Adds the boxes of an image that stay. A score of -infinity drops a box.
  void add(int64_t image, const std::vector<Box>& boxes, const std::vector<float>& scores, const RegionLimits& limits);
  void finish(Context& context);
  std::vector<Shape> shapes() const;

 private:
  int64_t most_ = 0, live_ = 0;
  int tops_ = 1;
  float *rows_ = nullptr, *scored_ = nullptr;
  HostStage row_stage_, scored_stage_;
};

/// The base of layers with such tops.
class RegionRowsLayer : public Layer, public DynamicRows {
 public:
  LayerRoles roles() override { return {.needs_host = true, .rows = this}; }
  std::vector<Shape> current_shapes() const override { return rows_.shapes(); }

 protected:
  RegionRows rows_;
};

}  // namespace cortado
