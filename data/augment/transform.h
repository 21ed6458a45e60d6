#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/augment/augment_params.h"
#include "data/augment/augment_plan.h"
#include "data/formats/mean_file.h"
#include "data/image/image.h"
#include "data/object.h"
#include "data/sample.h"
#include "proto/cortado.pb.h"

namespace cortado::data {

/// What is done to every sample; transform_param with its files read.
struct TransformPlan {
  int crop_h = 0, crop_w = 0;  ///< 0: no crop
  bool random_crop = false;    ///< training; else the centre
  bool mirror = false;         ///< toss a coin for each sample, in both phases, as Caffe does
  float scale = 1;
  std::vector<float> mean_values;          ///< none, one, or one for each channel
  std::shared_ptr<const MeanImage> mean;   ///< null, or of the size before cropping
  ColorMode color = ColorMode::kAsStored;  ///< for encoded samples
  AugmentPlan augment;
  int64_t random_seed = -1;  ///< of draws, instead of the pipeline's, where not negative
};

/// From transform_param. Reads the mean file unless `read_files` is false. Throws FieldError
/// ("transform_param.crop_size", ...) for contradictions and for other dialects' options that this program does not
/// have; Error for a mean file.
TransformPlan make_transform_plan(const caffe::TransformationParameter& param, caffe::Phase phase,
                                  bool read_files = true);

/// The height and width that come out for a sample of this size; throws SampleError when the plan does not fit the
/// sample (crop larger than the image, mean of another size, as many mean values as there are not channels).
struct OutputSize {
  int height, width;
};
OutputSize output_size(const TransformPlan& plan, const Sample& sample);

/// What happens to the sample `index` of epoch `epoch`, whose source has this size: a pure function, so neither threads
/// nor devices matter. `objects` are those in the sample, which may guide the choice of a part. Throws SampleError as
/// output_size() does.
AugmentParams draw_params(const TransformPlan& plan, int channels, int height, int width, uint64_t seed, uint64_t epoch,
                          uint64_t index, std::span<const Object> objects = {});

/// The draw for a sample as it was decoded: its coordinates where the sample holds only a part of the source that was
/// drawn for, or the source (or part) at a smaller scale; and what has to be measured of its pixels. transform() does
/// it by itself for whole sources at any scale; code that decodes a part, or hands draws to transform_batch(), calls
/// this first.
AugmentParams resolve_params(const AugmentParams& params, const Sample& sample);
AugmentParams resolve_params(const AugmentParams& params, const Sample& sample, const SourcePart& part);

/// Makes channels x out_height x out_width floats of the sample: ((what the draw makes of it) - mean) * scale; the mean
/// image is laid over the source. The draw was made with this plan for the sample's source, or is what resolve_params()
/// made.
void transform(const Sample& sample, const TransformPlan& plan, const AugmentParams& params, float* out);

}  // namespace cortado::data
