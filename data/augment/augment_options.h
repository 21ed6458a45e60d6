#pragma once

// transform_param's options beyond crop, mirror and mean: this program's own (augment { ... }) and those of NVIDIA's,
// Intel's and SSD's dialects, all brought to one AugmentPlan.

#include "data/augment/affine.h"
#include "data/augment/augment_plan.h"
#include "data/augment/color_list.h"
#include "data/augment/draws.h"
#include "data/augment/transform.h"
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

// The operations of AutoAugment (Cubuk et al. 2018) and RandAugment (2019), and how strong each is: a strength of 1
// shears by 0.3, moves by 150/331 of the side, turns by 30 degrees, changes colour factors by 0.9, leaves 4 bits, and
// inverts from 0 up.

/// What a policy chose: motions compose in `back`, colours are added to a list.
struct PolicyChoice {
  Affine back;
  float sharpen = 0;
};

PolicyChoice apply_policy(const AugmentPlan& plan, int height, int width, const SampleKey& key, ColorList& colors);

}  // namespace cortado::data
