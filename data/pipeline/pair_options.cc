// Options of layers that read images with label images: dense_image_data_param (SegNet), or image_data_param of
// ImageSegData (DeepLab) and ImageLabelmapData (HED). The labels are an additional byte channel after the image's,
// without mean subtraction. `scale` also multiplies the labels, and the layer divides them by it.
#include <cmath>

#include "core/error.h"
#include "data/pipeline/pipeline_options.h"
#include "data/sources/image_source.h"
#include "data/sources/pair_source.h"

namespace cortado::data {

namespace {

/// The common fields of the two messages.
struct Given {
  std::string message;
  std::string source, root;
  uint32_t batch_size, rand_skip, threads;
  bool shuffle, color, says_color;
  ImageSizes sizes;
};

ImageSizes sizes_of(const caffe::DenseImageDataParameter& param) {
  caffe::ImageDataParameter sizes;
  sizes.set_new_height(param.new_height());
  sizes.set_new_width(param.new_width());
  try {
    return image_sizes_of(sizes);
  } catch (const FieldError& error) {
    throw FieldError("dense_" + error.field(), error.message(), error.hint());
  }
}

Given given_by(const caffe::DenseImageDataParameter& param) {
  return {"dense_image_data_param", param.source(),   param.root_folder(),  param.batch_size(), param.rand_skip(), 0,
          param.shuffle(),          param.is_color(), param.has_is_color(), sizes_of(param)};
}

Given given_by(const caffe::ImageDataParameter& param) {
  const std::string message = "image_data_param";
  const std::pair<const char*, bool> others[] = {{"short_side", param.short_side() > 0},
                                                 {"min_height", param.min_height() > 0},
                                                 {"min_width", param.min_width() > 0},
                                                 {"cache", param.cache()},
                                                 {"precache", param.precache()},
                                                 {"label_dim", param.label_dim() != 1},
                                                 {"dataset_share_per_node", param.dataset_share_per_node() != 1}};
  if (param.has_label_type() && param.label_type() != caffe::ImageDataParameter::PIXEL)
    throw FieldError(message + ".label_type", "labels must be images, which is PIXEL",
                     "use ImageData for classes, or NONE for images without labels");
  for (const auto& [name, set] : others)
    if (set)
      throw FieldError(message + "." + name, std::string(name) + " is not supported for label images",
                       "use new_height and new_width");
  return {message,
          param.source(),
          param.root_folder(),
          param.batch_size(),
          param.rand_skip(),
          param.has_threads() ? param.threads() : 0,
          param.shuffle(),
          param.is_color(),
          param.has_is_color(),
          image_sizes_of(param)};
}

/// Extends a mean of the image's channels by 0 for the labels.
void spare_labels(TransformPlan& plan, int channels) {
  std::vector<float>& values = plan.mean_values;
  if (values.size() > 1 && values.size() != size_t(channels))
    throw FieldError("transform_param.mean_value",
                     std::to_string(values.size()) + " mean values for images of " + std::to_string(channels) +
                         (channels == 1 ? " channel" : " channels"),
                     "set one, or one for each channel");
  if (values.size() == 1) values.resize(size_t(channels), values[0]);
  if (!values.empty()) values.push_back(0);
  if (plan.mean) {
    MeanImage mean = *plan.mean;
    mean.values.resize(mean.values.size() + size_t(mean.height) * size_t(mean.width), 0.0f);
    ++mean.channels;
    plan.mean = std::make_shared<const MeanImage>(std::move(mean));
  }
  if (!std::isnormal(plan.scale)) throw FieldError("transform_param.scale", "it must be a number other than 0");
}

/// The label outside of images, which losses ignore.
uint8_t fill_label_of(const caffe::ImageDataParameter& param) {
  if (param.ignore_label() < 0 || param.ignore_label() > 255)
    throw FieldError("image_data_param.ignore_label", "it is " + std::to_string(param.ignore_label()),
                     "labels are from 0 to 255");
  return uint8_t(param.ignore_label());
}

/// DeepLab pads images that are smaller than the crop with the mean, and their labels with one that is ignored.
void fill_to_crop(const caffe::LayerParameter& layer, const TransformPlan& plan, PairSourceOptions& pairs) {
  if (plan.crop_h > 0 && layer.transform_param().has_mean_file())
    throw FieldError("transform_param.mean_file", "images smaller than the crop are padded with the mean's colour",
                     "set mean_value instead");
  pairs.fill = plan.mean_values;
  pairs.fill_label = fill_label_of(layer.image_data_param());
  pairs.pad_height = plan.crop_h;
  pairs.pad_width = plan.crop_w;
  pairs.has_labels = layer.image_data_param().has_label();
  pairs.tells_size = layer.top_size() > 2;
}

PipelineOptions make_common(const caffe::LayerParameter& layer, const Given& given, const DataOptions& options,
                            bool read_files) {
  if (given.source.empty()) throw FieldError(given.message + ".source", "the list of images is not set");
  refuse_further_transforms(layer.transform_param(), "label images are only cropped and mirrored");
  PipelineOptions made = common_options(layer, given.message, given.batch_size, given.threads, options);
  made.source = given.source;
  made.shuffle = given.shuffle ? Shuffle::kExact : Shuffle::kNone;
  made.rand_skip = given.rand_skip;
  made.transform = make_transform_plan(layer.transform_param(), options.phase, read_files);
  set_color(given.message, given.color, given.says_color, made.transform);
  return made;
}

PairSourceOptions pairs_of(const Given& given) {
  PairSourceOptions pairs;
  pairs.list = given.source;
  pairs.root = given.root;
  pairs.height = given.sizes.height;
  pairs.width = given.sizes.width;
  return pairs;
}

PipelineOptions with_pairs(PipelineOptions made, const PairSourceOptions& pairs) {
  spare_labels(made.transform, made.transform.color == ColorMode::kGray ? 1 : 3);
  made.open = [pairs] { return pair_source(pairs); };
  return made;
}

/// Options of DeepLab's pairs; with label_type: NONE, as with has_label: false, lists have no labels.
PipelineOptions make_padded_pair_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                         bool read_files, bool windows) {
  caffe::ImageDataParameter param = layer.image_data_param();
  const bool none = param.has_label_type() && param.label_type() == caffe::ImageDataParameter::NONE;
  if (none) param.clear_label_type();
  const Given given = given_by(param);
  PipelineOptions made = make_common(layer, given, options, read_files);
  PairSourceOptions pairs = pairs_of(given);
  fill_to_crop(layer, made.transform, pairs);
  pairs.has_labels = pairs.has_labels && !none;
  pairs.has_windows = windows;
  return with_pairs(std::move(made), pairs);
}

}  // namespace

PipelineOptions make_dense_pair_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                        bool read_files) {
  return with_pairs(make_common(layer, given_by(layer.dense_image_data_param()), options, read_files),
                    pairs_of(given_by(layer.dense_image_data_param())));
}

PipelineOptions make_segment_pair_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                          bool read_files) {
  return make_padded_pair_options(layer, options, read_files, false);
}

PipelineOptions make_window_pair_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                         bool read_files) {
  return make_padded_pair_options(layer, options, read_files, true);
}

PipelineOptions make_map_pair_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files) {
  const Given given = given_by(layer.image_data_param());
  if (!layer.image_data_param().has_label())
    throw FieldError("image_data_param.has_label", "this layer does not work without labels");
  PairSourceOptions pairs = pairs_of(given);
  pairs.binary = true;
  return with_pairs(make_common(layer, given, options, read_files), pairs);
}

}  // namespace cortado::data
