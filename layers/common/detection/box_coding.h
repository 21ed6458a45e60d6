#pragma once

// SSD's encoding of a box as offsets from a prior (a default box), and its inverse. With centres c, sides s and
// variances v:
//   CENTER_SIZE  (c - c_prior) / s_prior and log(s / s_prior)
//   CORNER       the differences of corners
//   CORNER_SIZE  the differences of corners divided by the prior's sides
// Each is divided by its variance, unless variances are encoded in the targets.

#include <cmath>

#include "core/box.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// One number for each side of a box.
struct PriorOffsets {
  float v[4] = {};
};

struct BoxCode {
  caffe::PriorBoxParameter::CodeType type = caffe::PriorBoxParameter::CORNER;
  bool divides = true;  ///< whether offsets are divided by the variances

  PriorOffsets encode(const Box& prior, const PriorOffsets& variances, const Box& box) const {
    const float width = box_width(prior), height = box_height(prior);
    PriorOffsets code;
    if (type == caffe::PriorBoxParameter::CENTER_SIZE)
      code = {{((box.x0 + box.x1) - (prior.x0 + prior.x1)) / 2 / width,
               ((box.y0 + box.y1) - (prior.y0 + prior.y1)) / 2 / height, std::log(box_width(box) / width),
               std::log(box_height(box) / height)}};
    else
      code = {{box.x0 - prior.x0, box.y0 - prior.y0, box.x1 - prior.x1, box.y1 - prior.y1}};
    for (int k = 0; k < 4; ++k) {
      if (type == caffe::PriorBoxParameter::CORNER_SIZE) code.v[k] /= k % 2 ? height : width;
      if (divides) code.v[k] /= variances.v[k];
    }
    return code;
  }

  Box decode(const Box& prior, const PriorOffsets& variances, const PriorOffsets& code) const {
    const float width = box_width(prior), height = box_height(prior);
    PriorOffsets d = code;
    for (int k = 0; k < 4; ++k) {
      if (divides) d.v[k] *= variances.v[k];
      if (type == caffe::PriorBoxParameter::CORNER_SIZE) d.v[k] *= k % 2 ? height : width;
    }
    if (type != caffe::PriorBoxParameter::CENTER_SIZE)
      return {prior.x0 + d.v[0], prior.y0 + d.v[1], prior.x1 + d.v[2], prior.y1 + d.v[3]};
    const float x = (prior.x0 + prior.x1) / 2 + d.v[0] * width, y = (prior.y0 + prior.y1) / 2 + d.v[1] * height;
    const float half_width = std::exp(d.v[2]) * width / 2, half_height = std::exp(d.v[3]) * height / 2;
    return {x - half_width, y - half_height, x + half_width, y + half_height};
  }
};

/// Priors in PriorBox's format: the corners of all, then the variances of all.
struct Priors {
  const float* values;
  int64_t count;
  Box box(int64_t p) const { return {values[4 * p], values[4 * p + 1], values[4 * p + 2], values[4 * p + 3]}; }
  PriorOffsets variances(int64_t p) const {
    const float* v = values + 4 * (count + p);
    return {{v[0], v[1], v[2], v[3]}};
  }
};

inline PriorOffsets offsets_at(const float* values) { return {{values[0], values[1], values[2], values[3]}}; }

}  // namespace cortado
