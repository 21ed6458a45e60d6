#pragma once

// Options of transform_param beyond crop, mirror and mean: this program's own (augment { ... }) and those of NVIDIA's,
// Intel's and SSD's dialects. All are converted to one AugmentPlan.

#include "data/augment/affine.h"
#include "data/augment/augment_plan.h"
#include "data/augment/color_list.h"
#include "data/augment/draws.h"
#include "data/augment/transform.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// Throws FieldError for values out of range, contradictions and unsupported combinations. For testing, options that
/// are the same for every sample stay; of a range the middle is used, and of a random part the centre.
AugmentPlan make_augment_plan(const caffe::TransformationParameter& param, caffe::Phase phase);

/// Adds the options of other dialects.
void add_dialect_options(const caffe::TransformationParameter& param, bool training, AugmentPlan& plan);

/// `path` is that of the message, with a dot.
DistortPlan make_distort_plan(const caffe::DistortionParameter& given, const std::string& path);

/// The colour operations of one sample.
struct Distortion {
  ColorMatrix list[5];
  int count = 0;
  void add(const ColorMatrix& matrix) { list[count++] = matrix; }
  const ColorMatrix* begin() const { return list; }
  const ColorMatrix* end() const { return list + count; }
};
Distortion draw_distortion(const DistortPlan& plan, const SampleKey& key);

/// Checks 0 <= low <= high <= `most`. `path` is that of the message, `name` that of the field.
float checked(const std::string& path, const std::string& name, float value, float least, float most);
Range checked_range(const std::string& path, const std::string& low_name, float low, const std::string& high_name,
                    float high, float least, float most);

/// Throws SampleError if the mean or the colours do not match the sample's shape.
void check_fits(const TransformPlan& plan, int channels, int height, int width);

/// Throws SampleError if the crop is larger than the image.
void check_crop(const TransformPlan& plan, int channels, int height, int width);

/// Stores `map` in the draw: in fixed point, with the interpolation kernels for its steps.
void fix_map(const Affine& map, AugmentParams& params);

/// Whether the draw's colour operations depend on statistics of the sample's pixels.
bool measures_colors(const AugmentParams& params);

/// Measures these statistics and stores them in the draw.
void measure_colors(const Sample& sample, AugmentParams& params);

// The operations of AutoAugment (Cubuk et al. 2018) and RandAugment (2019) and their strengths. A strength of 1 shears
// by 0.3, translates by 150/331 of the side, rotates by 30 degrees, changes colour factors by 0.9, keeps 4 bits, and
// inverts values from 0 up.

/// The operations that a policy chose: motions are composed in `back`, colour operations are added to a list.
struct PolicyChoice {
  Affine back;
  float sharpen = 0;
};

PolicyChoice apply_policy(const AugmentPlan& plan, int height, int width, const SampleKey& key, ColorList& colors);

}  // namespace cortado::data
