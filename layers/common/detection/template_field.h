#pragma once

// MS-CNN's way to tell boxes: from templates of one size, whose centres lie in the middle of a branch's places. A box
// has four numbers: how far its centre lies from the template's, divided by the template's sides, and the logarithms of
// how many times as long its sides are. Both are limited.

#include <cmath>
#include <string>

#include "core/box.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/detection/box_offsets.h"

namespace cortado {

struct TemplateField {
  float width, height;  ///< of the template, in pixels
  float rate;           ///< pixels between two places
  float whr, xyr;       ///< sides are at most whr times as long, centres at most 1 / xyr of the sides away

  BoxOffsets limited(const BoxOffsets& o) const {
    const float most = std::log(whr);
    return {limit(o.x, 1 / xyr), limit(o.y, 1 / xyr), limit(o.w, most), limit(o.h, most)};
  }
  /// The box of numbers within limits at place (h, w). Its sides are the differences of its corners.
  Box box(const BoxOffsets& o, int64_t h, int64_t w) const {
    const float x = o.x * width + (float(w) + 0.5f) * rate, y = o.y * height + (float(h) + 0.5f) * rate;
    const float half_w = 0.5f * width * std::exp(o.w), half_h = 0.5f * height * std::exp(o.h);
    return {x - half_w, y - half_h, x + half_w, y + half_h};
  }
  /// NaN stays.
  static float limit(float v, float most) { return v > most ? most : v < -most ? -most : v; }

  /// Throws FieldError(field + ...).
  void check(const std::string& field) const {
    const auto require = [&](float value, float least, const std::string& name, const std::string& hint) {
      if (!(value > 0 && value >= least && std::isfinite(value)))
        throw FieldError(field + "." + name,
                         "it is " + to_text(value) + ", but must be " + (least > 0 ? "1 or more" : "above 0"), hint);
    };
    require(width, 0, "field_w", "it is the template's width in pixels");
    require(height, 0, "field_h", "it is the template's height in pixels");
    require(rate, 0, "downsample_rate", "it is the number of pixels between two places");
    require(whr, 1, "field_whr", "boxes are at most so many times as wide or high as the template");
    require(xyr, 0, "field_xyr", "centres lie at most one part of so many from the template's");
  }
};

}  // namespace cortado
