// Converts annotated_data_param, and the options of transform_param for objects, to a pipeline's options; others as for
// Data. So do the options of BoxData.
#include "core/error.h"
#include "core/text/text.h"
#include "data/lmdb/lmdb.h"
#include "data/pipeline/pipeline_options.h"
#include "data/sources/lmdb_source.h"

namespace cortado::data {

namespace {

const std::string kAnnotatedOptionsOwn = "annotated_data_param.";
constexpr uint32_t kMaxTrials = 100000;

Range checked_range(const std::string& path, const std::string& what, float low, float high, float most) {
  if (!(low > 0 && low <= most))
    throw FieldError(path + "min_" + what,
                     "it is " + to_text(low) + ", but must be above 0 and at most " + to_text(most));
  if (!(high >= low && high <= most))
    throw FieldError(path + "max_" + what,
                     "it is " + to_text(high) + ", but must be between min_" + what + " and " + to_text(most));
  return {low, high};
}

std::optional<Range> share_range(bool has_low, float low, bool has_high, float high) {
  if (!has_low && !has_high) return std::nullopt;
  return Range{has_low ? low : -1, has_high ? high : 2};
}

PartSampler sampler_of(const caffe::BatchSampler& given, const std::string& path) {
  constexpr float kMaxAspect = 1000;
  if (!given.use_original_image())
    throw FieldError(path + "use_original_image", "parts are drawn from the original image only", "remove it");
  PartSampler made;
  const caffe::Sampler& sampler = given.sampler();
  made.scale = checked_range(path + "sampler.", "scale", sampler.min_scale(), sampler.max_scale(), 1);
  made.aspect = checked_range(path + "sampler.", "aspect_ratio", sampler.min_aspect_ratio(), sampler.max_aspect_ratio(),
                              kMaxAspect);
  const caffe::SampleConstraint& wanted = given.sample_constraint();
  made.overlap = share_range(wanted.has_min_jaccard_overlap(), wanted.min_jaccard_overlap(),
                             wanted.has_max_jaccard_overlap(), wanted.max_jaccard_overlap());
  made.sample_coverage = share_range(wanted.has_min_sample_coverage(), wanted.min_sample_coverage(),
                                     wanted.has_max_sample_coverage(), wanted.max_sample_coverage());
  made.object_coverage = share_range(wanted.has_min_object_coverage(), wanted.min_object_coverage(),
                                     wanted.has_max_object_coverage(), wanted.max_object_coverage());
  made.most = given.max_sample();
  made.trials = given.max_trials();
  if (given.max_trials() > kMaxTrials)
    throw FieldError(path + "max_trials", "it is " + std::to_string(given.max_trials()) + ", but " +
                                              std::to_string(kMaxTrials) + " is the maximum");
  return made;
}

/// Samples of a batch must have the same size, so parts have to be resized.
void require_size(const caffe::TransformationParameter& param) {
  const bool resizes = param.resize_param_size() > 0, several = param.resize_param_size() > 1;
  const caffe::ResizeParameter resize = resizes ? param.resize_param(0) : caffe::ResizeParameter();
  const bool one_size =
      resizes && (several || resize.prob() == 1) && resize.resize_mode() != caffe::ResizeParameter::FIT_SMALL_SIZE;
  if (one_size || param.crop_size() > 0 || param.crop_h() > 0) return;
  throw FieldError("transform_param.resize_param", "parts of images have different sizes, so they do not form a batch",
                   "resize them: resize_param { prob: 1 resize_mode: WARP height: 300 width: 300 }");
}

KeepObjects keep_of(const caffe::TransformationParameter& param, const caffe::AnnotatedDataParameter& own) {
  KeepObjects keep;
  keep.difficult = own.train_diffcult();
  if (!param.has_emit_constraint()) return keep;
  const caffe::EmitConstraint& emit = param.emit_constraint();
  keep.rule = emit.emit_type() == caffe::EmitConstraint::CENTER ? KeepObjects::kCenter : KeepObjects::kOverlap;
  keep.overlap = emit.emit_overlap();
  return keep;
}

/// A third top is a map of labels.
LabelMapPlan label_map_of(const caffe::LayerParameter& layer) {
  constexpr uint32_t kMaxSide = 1 << 16;
  const caffe::AnnotatedDataParameter& own = layer.annotated_data_param();
  LabelMapPlan plan;
  plan.on = layer.top_size() > 2;
  const auto check = [&](const char* name, uint32_t value, uint32_t least) {
    if (value < least || value > kMaxSide)
      throw FieldError(kAnnotatedOptionsOwn + name, "it is " + std::to_string(value) + ", but must be from " +
                                                        std::to_string(least) + " to " + std::to_string(kMaxSide));
    return int(value);
  };
  plan.divisor = check("seg_scales", own.seg_scales(), 1);
  plan.height = check("seg_resize_height", own.seg_resize_height(), 0);
  plan.width = check("seg_resize_width", own.seg_resize_width(), 0);
  if ((plan.height > 0) != (plan.width > 0))
    throw FieldError(kAnnotatedOptionsOwn + (plan.height > 0 ? "seg_resize_height" : "seg_resize_width"),
                     "set both seg_resize_height and seg_resize_width, or neither");
  return plan;
}

/// Throws FieldError for options that images with objects do not support.
void refuse_without_objects(const caffe::LayerParameter& layer, const PipelineOptions& made) {
  if (made.cache != CacheOn::kNowhere)
    throw FieldError(layer.data_param().has_cache_on() ? "data_param.cache_on" : "data_param.cache",
                     "caching does not support images with objects", "remove it");
  if (made.transform.augment.mix.on())
    throw FieldError("transform_param.augment.mix", "images with objects cannot be mixed", "remove it");
}

}  // namespace

PipelineOptions make_annotated_options(const caffe::LayerParameter& layer, const DataOptions& options,
                                       bool read_files) {
  const caffe::AnnotatedDataParameter& own = layer.annotated_data_param();
  caffe::LayerParameter images = layer;
  images.mutable_transform_param()->clear_emit_constraint();
  PipelineOptions made = make_database_options(images, options, read_files);
  refuse_without_objects(layer, made);
  made.label_map = label_map_of(layer);
  AugmentPlan& augment = made.transform.augment;
  augment.keep = keep_of(layer.transform_param(), own);
  if (options.phase == caffe::TRAIN) {
    for (int i = 0; i < own.batch_sampler_size(); ++i)
      augment.samplers.push_back(
          sampler_of(own.batch_sampler(i), entry(kAnnotatedOptionsOwn + "batch_sampler", i) + "."));
    augment.jitter_edges = own.yolo_data_jitter();
    if (!(augment.jitter_edges >= 0 && augment.jitter_edges < 1))
      throw FieldError(kAnnotatedOptionsOwn + "yolo_data_jitter",
                       "it is " + to_text(augment.jitter_edges) + ", but must be at least 0 and below 1");
    if (!augment.samplers.empty() || augment.jitter_edges > 0) {
      require_size(layer.transform_param());
      augment.moves = true;
    }
  }
  made.open = [source = made.source] { return lmdb_source(Lmdb::open(source), RecordKind::kAnnotated); };
  return made;
}

PipelineOptions make_box_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files) {
  PipelineOptions made = make_database_options(layer, options, read_files);
  refuse_without_objects(layer, made);
  AugmentPlan& augment = made.transform.augment;
  augment.keep.rule = KeepObjects::kCenter;
  augment.keep.whole = true;
  if (options.phase == caffe::TRAIN) {
    PartSampler sampler;
    sampler.scale = {0.7f, 1};
    sampler.has_center = true;
    sampler.most = 1, sampler.trials = 1000;
    augment.samplers = {sampler};
    augment.parts_fill_image = augment.moves = true;
  }
  made.open = [source = made.source] { return lmdb_source(Lmdb::open(source), RecordKind::kBoxes); };
  return made;
}

}  // namespace cortado::data
