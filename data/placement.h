#pragma once

#include "data/draws.h"
#include "data/transform.h"

namespace cortado::data {

/// A rectangle of the source's plane (it may reach beyond the source) and how many pixels it is brought to.
struct Placement {
  double left, top, width, height;
  int columns, rows;
};

/// Expanding, choosing a part, resizing and padding, in this order: all that comes before the crop.
Placement place_sample(const TransformPlan& plan, int height, int width, const SampleKey& key);

}  // namespace cortado::data
