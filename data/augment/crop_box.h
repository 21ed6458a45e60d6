#pragma once

#include <span>

#include "data/augment/draws.h"
#include "data/augment/transform.h"
#include "data/object.h"

namespace cortado::data {

/// A rectangle of the source's plane, which may extend beyond the source, and the number of pixels to which it is
/// resized.
struct CropBox {
  double left, top, width, height;
  int columns, rows;
};

/// All steps before the crop, in this order: expanding, choosing a part, resizing and padding.
CropBox place_sample(const TransformPlan& plan, int height, int width, const SampleKey& key,
                     std::span<const Object> objects = {});

}  // namespace cortado::data
