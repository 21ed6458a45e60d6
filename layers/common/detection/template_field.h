#pragma once

// MS-CNN's encoding of boxes: relative to templates of one size, centred at the positions of a branch's feature map. A
// box has four numbers: the distance of its centre from the template's divided by the template's sides, and the
// logarithms of the ratios of the sides. Both are limited.

#include <cmath>
#include <string>

#include "core/box.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/box_offsets.h"

namespace cortado {

struct TemplateField {
  float width, height;  ///< of the template, in pixels
  float rate;           ///< stride of the positions in pixels
  float whr, xyr;       ///< limits: sides are at most whr times as long, centres at most 1 / xyr of the sides away

  BoxOffsets limited(const BoxOffsets& o) const {
    const float most = std::log(whr);
    return {limit(o.x, 1 / xyr), limit(o.y, 1 / xyr), limit(o.w, most), limit(o.h, most)};
  }
  /// The box at position (h, w), with the offsets limited. Its sides are the differences of its corners.
  Box box(const BoxOffsets& o, int64_t h, int64_t w) const {
    const float x = o.x * width + (float(w) + 0.5f) * rate, y = o.y * height + (float(h) + 0.5f) * rate;
    const float half_w = 0.5f * width * std::exp(o.w), half_h = 0.5f * height * std::exp(o.h);
    return {x - half_w, y - half_h, x + half_w, y + half_h};
  }
  /// NaN stays NaN.
  static float limit(float v, float most) { return v > most ? most : v < -most ? -most : v; }

  /// Throws FieldError(field + ...).
  void check(const std::string& field) const {
    check_template(field, "downsample_rate");
    check_limits(field);
  }
  void check_template(const std::string& field, const std::string& rate_name) const {
    require(width, 0, field + ".field_w", "set the template's width in pixels");
    require(height, 0, field + ".field_h", "set the template's height in pixels");
    require(rate, 0, field + "." + rate_name, "set the stride of the positions in pixels");
  }
  void check_limits(const std::string& field) const {
    require(whr, 1, field + ".field_whr", "set the largest ratio of a box's side to the template's");
    require(xyr, 0, field + ".field_xyr", "centres are at most 1 / field_xyr of the template's side away");
  }

 private:
  static void require(float value, float least, const std::string& field, const std::string& hint) {
    if (value > 0 && value >= least && std::isfinite(value)) return;
    throw FieldError(field, "it is " + to_text(value) + ", but must be " + (least > 0 ? "1 or more" : "above 0"), hint);
  }
};

}  // namespace cortado
