#pragma once

#include "data/augment/affine.h"
#include "data/augment/transform.h"

namespace cortado::data {

/// Throws SampleError where mean or colours do not go with the sample's shape.
void check_fits(const TransformPlan& plan, int channels, int height, int width);

/// Throws SampleError where the crop is larger than what it is cut from.
void check_crop(const TransformPlan& plan, int channels, int height, int width);

/// Makes `map` the draw's: in fixed point, with the kernels that its steps ask for.
void fix_map(const Affine& map, AugmentParams& params);

/// Whether the draw's operations on colours have to know the sample's pixels.
bool measures_colors(const AugmentParams& params);

/// Fills in what these operations have to know of the sample.
void measure_colors(const Sample& sample, AugmentParams& params);

}  // namespace cortado::data
