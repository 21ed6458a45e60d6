#pragma once

#include <span>

#include "data/augment/draws.h"
#include "data/augment/transform.h"
#include "data/object.h"

namespace cortado::data {

/// A rectangle of the source's plane (it may reach beyond the source) and how many pixels it is brought to.
struct CropBox {
  double left, top, width, height;
  int columns, rows;
};

/// Expanding, choosing a part, resizing and padding, in this order: all that comes before the crop.
CropBox place_sample(const TransformPlan& plan, int height, int width, const SampleKey& key,
                     std::span<const Object> objects = {});

}  // namespace cortado::data
