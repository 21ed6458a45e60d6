#pragma once

#include <string>
#include <vector>

#include "data/pipeline/pipeline.h"

namespace cortado::data {

/// What every data layer has: the batch and the threads that its own options (`own`: "image_data_param") give, and of
/// data_param prefetch, cache_on and seed. Throws FieldError.
PipelineOptions common_options(const caffe::LayerParameter& layer, const std::string& own, uint32_t batch_size,
                               uint32_t threads, const DataOptions& options);

/// Throws FieldError for a field of transform_param that is not `known`.
void refuse_transforms_but(const std::vector<std::string>& known, const caffe::TransformationParameter& param,
                           const std::string& why, const std::string& hint);

/// The same for a field beyond crops, mirror, scale, mean and what chooses colours or
/// speed.
void refuse_further_transforms(const caffe::TransformationParameter& param, const std::string& why);

/// The colours of images by `own`.is_color, which was `told` or is a default, where transform_param does not say.
/// Throws FieldError where the two contradict each other.
void set_color(const std::string& own, bool color, bool told, TransformPlan& plan);

// Of one kind of layer each. They touch no dataset, and no mean file unless `read_files`. Throw FieldError naming the
// field ("data_param.batch_size"); Error for a mean file.
PipelineOptions make_database_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_annotated_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_image_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_dense_pair_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                        bool read_files);
PipelineOptions make_segment_pair_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                          bool read_files);
PipelineOptions make_map_pair_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_clip_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_window_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);

}  // namespace cortado::data
