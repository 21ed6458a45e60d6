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

/// The transformations of all samples: transform_param, with its files read.
struct TransformPlan {
  int crop_h = 0, crop_w = 0;  ///< 0: no crop
  bool random_crop = false;    ///< for training; otherwise the centre
  bool mirror = false;         ///< with probability 1/2 for each sample, in both phases as in Caffe
  float scale = 1;
  std::vector<float> mean_values;          ///< empty, one, or one for each channel
  std::shared_ptr<const MeanImage> mean;   ///< null, or of the size before cropping
  ColorMode color = ColorMode::kAsStored;  ///< for encoded samples
  AugmentPlan augment;
  int64_t random_seed = -1;  ///< for the draws, instead of the pipeline's; negative: not set
};

/// Converts transform_param. Reads the mean file unless `read_files` is false. Throws FieldError
/// ("transform_param.crop_size", ...) for contradictions and for unsupported options of other dialects; Error for a
/// mean file.
TransformPlan make_transform_plan(const caffe::TransformationParameter& param, caffe::Phase phase,
                                  bool read_files = true);

/// The height and width of the result for a sample of this size. Throws SampleError if the plan does not fit the
/// sample: the crop is larger than the image, the mean has another size, or the number of mean values differs from the
/// number of channels.
struct OutputSize {
  int height, width;
};
OutputSize output_size(const TransformPlan& plan, const Sample& sample);

/// Draws the transformation of sample `index` of epoch `epoch`, whose source has this size. The result depends on the
/// arguments only, not on threads or devices. `objects` are those in the sample; they may guide the choice of a part.
/// Throws SampleError like output_size().
AugmentParams draw_params(const TransformPlan& plan, int channels, int height, int width, uint64_t seed, uint64_t epoch,
                          uint64_t index, std::span<const Object> objects = {});

/// Converts a draw for a decoded sample: to its coordinates, if the sample contains only a part of the source or has a
/// smaller scale; and with statistics of its pixels, if needed. transform() does this itself for whole sources at any
/// scale. Code that decodes a part, or passes draws to transform_batch(), calls it first.
AugmentParams resolve_params(const AugmentParams& params, const Sample& sample);
AugmentParams resolve_params(const AugmentParams& params, const Sample& sample, const SourcePart& part);

/// Computes channels x out_height x out_width floats: ((sample transformed by the draw) - mean) * scale. The mean image
/// is aligned with the source. The draw was made with this plan for the sample's source, or is a result of
/// resolve_params().
void transform(const Sample& sample, const TransformPlan& plan, const AugmentParams& params, float* out);

}  // namespace cortado::data
