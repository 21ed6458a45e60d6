// Converts image_data_param to a pipeline's options. NVIDIA's threads, cache and short_side and Intel's minimum sizes
// are available in every net here. prefetch (as in Caffe), seed and cache_on are in data_param.
#include "core/error.h"
#include "data/pipeline/pipeline_options.h"
#include "data/sources/image_source.h"

namespace cortado::data {

namespace {

const std::string kImageOptionsOwn = "image_data_param";
constexpr uint32_t kImageOptionsMaxSide = 1 << 16;

int checked_side(const std::string& name, uint32_t side) {
  if (side > kImageOptionsMaxSide)
    throw FieldError(kImageOptionsOwn + "." + name, "at most " + std::to_string(kImageOptionsMaxSide));
  return int(side);
}

void refuse_volume_options(const caffe::ImageDataParameter& param) {
  for (const char* name :
       {"mean_value", "num_truth_channels", "truth_scale", "is_flow", "use_byte_input", "clip_min", "clip_max"}) {
    const auto* field = param.GetDescriptor()->FindFieldByName(name);
    if (param.GetReflection()->HasField(param, field))
      throw FieldError(kImageOptionsOwn + "." + name, "it is only for volumes of C3D",
                       field == param.GetDescriptor()->FindFieldByName("mean_value") ? "set transform_param.mean_value"
                                                                                     : "remove it");
  }
}

}  // namespace

ImageSizes image_sizes_of(const caffe::ImageDataParameter& param) {
  refuse_volume_options(param);
  ImageSizes sizes;
  sizes.height = checked_side("new_height", param.new_height());
  sizes.width = checked_side("new_width", param.new_width());
  if (param.has_short_side() && param.has_new_dim())
    throw FieldError(kImageOptionsOwn + ".new_dim", "short_side is set, too, and means the same",
                     "remove one of the two");
  sizes.short_side =
      param.has_new_dim() ? checked_side("new_dim", param.new_dim()) : checked_side("short_side", param.short_side());
  sizes.min_height = checked_side("min_height", param.min_height());
  sizes.min_width = checked_side("min_width", param.min_width());
  if ((sizes.height > 0) != (sizes.width > 0))
    throw FieldError(kImageOptionsOwn + (sizes.height > 0 ? ".new_height" : ".new_width"),
                     "set both new_height and new_width, or neither");
  if (sizes.height > 0 && sizes.short_side > 0)
    throw FieldError(kImageOptionsOwn + (param.has_new_dim() ? ".new_dim" : ".short_side"),
                     "new_height and new_width already set the size", "keep one of them");
  return sizes;
}

PipelineOptions make_image_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files) {
  const caffe::ImageDataParameter& param = layer.image_data_param();
  if (param.has_label_type() && param.label_type() != caffe::ImageDataParameter::IMAGE)
    throw FieldError(kImageOptionsOwn + ".label_type", "labels must be one class for each image",
                     "use ImageSegData for label images");
  if (param.source().empty())
    throw FieldError(kImageOptionsOwn + ".source", "the list of images is not set",
                     "set it to a file with lines 'PATH LABEL'");
  if (!(param.dataset_share_per_node() <= 1))
    throw FieldError(kImageOptionsOwn + ".dataset_share_per_node", "a part of the list for each node is not supported",
                     "remove it, and use a separate list for each node");
  ImageSourceOptions images;
  images.list = param.source();
  images.root = param.root_folder();
  images.sizes = image_sizes_of(param);
  if (param.label_dim() < 1 || param.label_dim() > kImageOptionsMaxSide)
    throw FieldError(kImageOptionsOwn + ".label_dim", "it is " + std::to_string(param.label_dim()) +
                                                          ", but must be from 1 to " +
                                                          std::to_string(kImageOptionsMaxSide));
  images.label_numbers = int(param.label_dim());
  PipelineOptions made = common_options(layer, kImageOptionsOwn, param.batch_size(), param.threads(), options);
  made.source = param.source();
  made.open = [images] { return image_source(images); };
  made.shuffle = param.shuffle() ? Shuffle::kExact : Shuffle::kNone;
  if (param.cache() && !layer.data_param().has_cache_on()) made.cache = CacheOn::kHost;
  made.rand_skip = param.rand_skip();
  made.transform = make_transform_plan(layer.transform_param(), options.phase, read_files);
  set_color(kImageOptionsOwn, param.is_color(), param.has_is_color(), made.transform);
  return made;
}

}  // namespace cortado::data
