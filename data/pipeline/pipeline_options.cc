#include "data/pipeline/pipeline_options.h"

#include <algorithm>

#include "core/error.h"

namespace cortado::data {

namespace {

constexpr uint32_t kMaxBatch = 1 << 24, kMaxPrefetch = 1024;
constexpr int kMaxThreads = 256;

Shuffle shuffle_for(const caffe::DataParameter& param) {
  using caffe::DataParameter;
  if (!param.shuffle()) {
    if (param.has_shuffle_mode())
      throw FieldError("data_param.shuffle_mode", "the order is not shuffled", "set shuffle: true");
    return Shuffle::kNone;
  }
  switch (param.shuffle_mode()) {
    case DataParameter::EXACT:
      return Shuffle::kExact;
    case DataParameter::BLOCKS:
      return Shuffle::kBlocks;
    case DataParameter::AUTO:
      break;
  }
  return Shuffle::kAuto;
}

}  // namespace

PipelineOptions make_database_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files) {
  const caffe::DataParameter& param = layer.data_param();
  if (param.source().empty())
    throw FieldError("data_param.source", "the dataset is not set", "set it to the path of an LMDB folder");
  PipelineOptions made = common_options(layer, "data_param", param.batch_size(), param.threads(), options);
  made.source = param.source();
  made.shuffle = shuffle_for(param);
  if (param.cache() && !param.has_cache_on()) made.cache = CacheOn::kHost;
  made.rand_skip = param.rand_skip();
  made.transform = make_transform_plan(layer.transform_param(), options.phase, read_files);
  if (param.force_encoded_color()) {
    if (made.transform.color == ColorMode::kGray)
      throw FieldError("data_param.force_encoded_color", "transform_param.force_gray is set as well");
    made.transform.color = ColorMode::kColor;
  }
  return made;
}

PipelineOptions common_options(const caffe::LayerParameter& layer, const std::string& own, uint32_t batch_size,
                               uint32_t threads, const DataOptions& options) {
  const caffe::DataParameter& param = layer.data_param();
  if (batch_size < 1 || batch_size > kMaxBatch)
    throw FieldError(own + ".batch_size", "batch_size is " + std::to_string(batch_size) + "; it must be from 1 to " +
                                              std::to_string(kMaxBatch));
  if (param.prefetch() > kMaxPrefetch)
    throw FieldError("data_param.prefetch", "at most " + std::to_string(kMaxPrefetch) + " batches");
  PipelineOptions made;
  made.batch_size = int(batch_size);
  made.prefetch = std::max(int(param.prefetch()), 1);
  int64_t chosen = threads > 0 ? int64_t(threads) : std::max(options.default_threads, 1);
  if (options.data_threads > 0) chosen = options.data_threads;
  if (chosen > kMaxThreads) throw FieldError(own + ".threads", "at most " + std::to_string(kMaxThreads) + " threads");
  made.threads = int(chosen);
  if (param.has_cache_on())
    made.cache = param.cache_on() == caffe::DataParameter::DEVICE ? CacheOn::kDevice : CacheOn::kHost;
  made.share = options.share;
  made.skip_bad = options.skip_bad;
  made.seed = param.seed() != 0 ? param.seed() : options.seed;
  return made;
}

void set_color(const std::string& own, bool color, bool given, TransformPlan& plan) {
  const ColorMode asked = color ? ColorMode::kColor : ColorMode::kGray;
  if (given && plan.color != ColorMode::kAsStored && plan.color != asked)
    throw FieldError(own + ".is_color", "force_color or force_gray in transform_param contradicts it",
                     "keep one of them");
  if (plan.color == ColorMode::kAsStored) plan.color = asked;
}

void refuse_transforms_but(const std::vector<std::string>& known, const caffe::TransformationParameter& param,
                           const std::string& why, const std::string& hint) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  param.GetReflection()->ListFields(param, &fields);
  for (const auto* field : fields)
    if (std::find(known.begin(), known.end(), field->name()) == known.end())
      throw FieldError("transform_param." + field->name(), why, hint);
}

void refuse_further_transforms(const caffe::TransformationParameter& param, const std::string& why) {
  static const std::vector<std::string> known = {"crop_size",   "crop_h",    "crop_w",      "mirror",
                                                 "scale",       "mean_file", "mean_value",  "force_gray",
                                                 "force_color", "display",   "random_seed", "use_gpu_transform"};
  refuse_transforms_but(known, param, why, "use crop_size, mirror, scale, mean_file or mean_value");
}

}  // namespace cortado::data
