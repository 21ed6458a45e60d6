#pragma once

#include "data/transform.h"

namespace cortado::data {

/// transform() for every kind of draw, row by row, with the numbers of data/augment.h. The draw is fitted to the sample.
void transform_rows(const Sample& sample, const TransformPlan& plan, const SampleDraw& draw, float* out);

float mean_value(const TransformPlan& plan, int channel);  ///< 0 where there are none
const float* mean_at(const MeanImage& mean, int channel, int64_t row, int64_t column);

}  // namespace cortado::data
