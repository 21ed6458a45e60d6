#pragma once

// Boxes as offsets from other boxes, as R-CNN predicts them: the distance of the centres divided by the other box's
// sides, and the logarithms of the ratios of the sides.

#include <cmath>
#include <string>

#include "core/box.h"
#include "proto/cortado.pb.h"

namespace cortado {

struct BoxOffsets {
  float x = 0, y = 0, w = 0, h = 0;
};

/// Applies the offsets to `box`. Sides are longer than the difference of corners by `border`, those of the result by
/// `border_after`: 1 and 0 is Faster R-CNN's convention. NaN offsets make NaN corners.
CORTADO_HD inline Box moved(const Box& box, const BoxOffsets& by, float border, float border_after) {
  const float width = box_width(box, border), height = box_height(box, border);
  const float w = 0.5f * width * expf(by.w), h = 0.5f * height * expf(by.h);
  const float x = box.x0 + 0.5f * width + by.x * width, y = box.y0 + 0.5f * height + by.y * height;
  return {x - w, y - h, x + w - border_after, y + h - border_after};
}

/// The offsets of `to` from `from`: moved(from, offsets(from, to, border), border, border) is `to`.
CORTADO_HD inline BoxOffsets offsets(const Box& from, const Box& to, float border) {
  const float width = box_width(from, border), height = box_height(from, border);
  const float w = box_width(to, border), h = box_height(to, border);
  return {(to.x0 + 0.5f * w - from.x0 - 0.5f * width) / width, (to.y0 + 0.5f * h - from.y0 - 0.5f * height) / height,
          logf(w / width), logf(h / height)};
}

CORTADO_HD inline bool has_nan(const Box& box) {
  return box.x0 != box.x0 || box.y0 != box.y0 || box.x1 != box.x1 || box.y1 != box.y1;
}

/// Offsets are normalized: offset = (raw offset - mean) / deviation.
struct OffsetScale {
  float mean[4] = {0, 0, 0, 0}, deviation[4] = {1, 1, 1, 1};

  CORTADO_HD BoxOffsets undone(const BoxOffsets& o) const {
    return {o.x * deviation[0] + mean[0], o.y * deviation[1] + mean[1], o.w * deviation[2] + mean[2],
            o.h * deviation[3] + mean[3]};
  }
  CORTADO_HD BoxOffsets done(const BoxOffsets& o) const {
    return {(o.x - mean[0]) / deviation[0], (o.y - mean[1]) / deviation[1], (o.w - mean[2]) / deviation[2],
            (o.h - mean[3]) / deviation[3]};
  }
};

/// From bbox_mean and bbox_std of the message `field`; both must be set, or neither. Throws FieldError.
OffsetScale offset_scale(const google::protobuf::RepeatedField<float>& means,
                         const google::protobuf::RepeatedField<float>& deviations, const std::string& field);

inline OffsetScale offset_scale(const caffe::BboxRegParameter& param) {
  return offset_scale(param.bbox_mean(), param.bbox_std(), "bbox_reg_param");
}

}  // namespace cortado
