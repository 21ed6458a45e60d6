#pragma once

// transform_param's options beyond crop, mirror and mean: this program's own (augment { ... }) and those of NVIDIA's,
// Intel's and SSD's dialects, all brought to one AugmentPlan.

#include "data/augment/augment_plan.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// Throws FieldError for values out of range, for contradictions and for what cannot be had. Testing keeps what is the
/// same for every sample; of a range it takes the middle, and of a random part the centre.
AugmentPlan make_augment_plan(const caffe::TransformationParameter& param, caffe::Phase phase);

/// Adds the options of other dialects.
void add_dialect_options(const caffe::TransformationParameter& param, bool training, AugmentPlan& plan);

/// Checks that both say what they may: 0 to `most`, and low <= high. `path` is that of the message, `name` of the
/// field.
float checked(const std::string& path, const std::string& name, float value, float least, float most);
Range checked_range(const std::string& path, const std::string& low_name, float low, const std::string& high_name,
                    float high, float least, float most);

}  // namespace cortado::data
