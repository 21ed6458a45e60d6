#pragma once

#include <string>
#include <vector>

#include "data/pipeline/pipeline.h"

namespace cortado::data {

/// Options that all data layers have: batch and threads from the layer's own message (`own`: "image_data_param"), and
/// prefetch, cache_on and seed from data_param. Throws FieldError.
PipelineOptions common_options(const caffe::LayerParameter& layer, const std::string& own, uint32_t batch_size,
                               uint32_t threads, const DataOptions& options);

/// Throws FieldError for a field of transform_param that is not in `known`.
void refuse_transforms_but(const std::vector<std::string>& known, const caffe::TransformationParameter& param,
                           const std::string& why, const std::string& hint);

/// The same for fields other than crops, mirror, scale, mean and options of colours and speed.
void refuse_further_transforms(const caffe::TransformationParameter& param, const std::string& why);

/// Sets the colour mode of images from `own`.is_color, explicit (`given`) or default, unless transform_param sets
/// it. Throws FieldError if the two contradict each other.
void set_color(const std::string& own, bool color, bool given, TransformPlan& plan);

// One for each kind of layer. They do not open datasets, and read a mean file only with `read_files`. Throw FieldError
// with the field ("data_param.batch_size"); Error for a mean file.
PipelineOptions make_database_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_annotated_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_box_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_image_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_dense_pair_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                        bool read_files);
PipelineOptions make_segment_pair_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                          bool read_files);
PipelineOptions make_window_pair_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                         bool read_files);
PipelineOptions make_map_pair_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_clip_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);
PipelineOptions make_window_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files);

}  // namespace cortado::data
