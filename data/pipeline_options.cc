#include "core/error.h"
#include "data/pipeline.h"

namespace cortado::data {

namespace {

constexpr uint32_t kMostBatch = 1 << 24, kMostPrefetch = 1024;
constexpr int kMostThreads = 256;

int threads_for(const caffe::DataParameter& param, const DataOptions& options) {
  int64_t threads = param.threads() > 0 ? int64_t(param.threads()) : std::max(options.default_threads, 1);
  if (options.forced_threads > 0) threads = options.forced_threads;
  if (threads > kMostThreads)
    throw FieldError("data_param.threads", "at most " + std::to_string(kMostThreads) + " threads");
  return int(threads);
}

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

CacheOn cache_for(const caffe::DataParameter& param) {
  if (param.has_cache_on()) return param.cache_on() == caffe::DataParameter::DEVICE ? CacheOn::kDevice : CacheOn::kHost;
  return param.cache() ? CacheOn::kHost : CacheOn::kNowhere;
}

}  // namespace

PipelineOptions make_pipeline_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files) {
  const caffe::DataParameter& param = layer.data_param();
  PipelineOptions made;
  if (param.source().empty())
    throw FieldError("data_param.source", "the dataset is not named", "give the path of an LMDB folder");
  if (param.batch_size() < 1 || param.batch_size() > kMostBatch)
    throw FieldError("data_param.batch_size", "batch_size is " + std::to_string(param.batch_size()) +
                                                  "; it must be from 1 to " + std::to_string(kMostBatch));
  if (param.prefetch() > kMostPrefetch)
    throw FieldError("data_param.prefetch", "at most " + std::to_string(kMostPrefetch) + " batches");
  made.source = param.source();
  made.batch_size = int(param.batch_size());
  made.prefetch = std::max(int(param.prefetch()), 1);
  made.threads = threads_for(param, options);
  made.shuffle = shuffle_for(param);
  made.cache = cache_for(param);
  made.rank = options.rank;
  made.ranks = options.ranks;
  made.seed = param.seed() != 0 ? param.seed() : options.seed;
  made.rand_skip = param.rand_skip();
  made.transform = make_transform_plan(layer.transform_param(), options.phase, read_files);
  if (param.force_encoded_color()) {
    if (made.transform.color == ColorMode::kGray)
      throw FieldError("data_param.force_encoded_color", "transform_param.force_gray is set as well");
    made.transform.color = ColorMode::kColor;
  }
  return made;
}

}  // namespace cortado::data
