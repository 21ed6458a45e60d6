// Converts video_data_param of C3D to a pipeline's options. A clip is an image of 3 x new_length channels, so all of
// its frames are cropped and mirrored alike.
#include "core/error.h"
#include "data/pipeline/pipeline_options.h"
#include "data/sources/clip_source.h"

namespace cortado::data {

namespace {

const std::string kClipOptionsOwn = "video_data_param";
constexpr uint32_t kClipOptionsMaxSide = 1 << 16, kMaxLength = 1 << 12;
constexpr int kClipOptionsColors = 3;

void refuse_films(const caffe::VideoDataParameter& param) {
  const std::string hint = "write the frames into folders as 000001.jpg and so on";
  if (!param.use_image())
    throw FieldError(kClipOptionsOwn + ".use_image", "videos are not supported, only frames as images", hint);
  if (param.use_temporal_jitter())
    throw FieldError(kClipOptionsOwn + ".use_temporal_jitter",
                     "the number of frames is known only for videos, which are not supported",
                     "list clips with several first frames, and shuffle them");
  const char* camera = param.has_video_type()    ? "video_type"
                       : param.has_device_id()   ? "device_id"
                       : param.has_video_file()  ? "video_file"
                       : param.has_skip_frames() ? "skip_frames"
                                                 : nullptr;
  if (camera)
    throw FieldError(kClipOptionsOwn + "." + camera, "cameras and videos are not supported, only frames as images",
                     hint);
}

void require(const char* name, uint32_t value, uint32_t least, uint32_t most) {
  if (value < least || value > most)
    throw FieldError(kClipOptionsOwn + "." + name, std::string(name) + " is " + std::to_string(value) +
                                                       "; it must be from " + std::to_string(least) + " to " +
                                                       std::to_string(most));
}

/// Repeats the values for three colours for each frame.
void spread_over_frames(TransformPlan& plan, int length) {
  std::vector<float> values;
  if (plan.mean_values.size() > 1 && plan.mean_values.size() != size_t(kClipOptionsColors))
    throw FieldError("transform_param.mean_value", "there are " + std::to_string(plan.mean_values.size()),
                     "set one, or one for each of three channels");
  if (plan.mean_values.size() > 1) {
    for (const float value : plan.mean_values) values.insert(values.end(), size_t(length), value);
    plan.mean_values = values;
  }
  if (!plan.mean || plan.mean->channels != kClipOptionsColors || length == 1) return;
  MeanImage mean = *plan.mean;
  const size_t pixels = size_t(mean.height) * size_t(mean.width);
  mean.channels = kClipOptionsColors * length;
  mean.values.clear();
  for (int c = 0; c < mean.channels; ++c) {
    const auto from = plan.mean->values.begin() + int64_t(size_t(c / length) * pixels);
    mean.values.insert(mean.values.end(), from, from + int64_t(pixels));
  }
  plan.mean = std::make_shared<const MeanImage>(std::move(mean));
}

}  // namespace

PipelineOptions make_clip_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files) {
  const caffe::VideoDataParameter& param = layer.video_data_param();
  refuse_films(param);
  if (layer.has_image_data_param())
    throw FieldError("image_data_param", "it has options that VideoData does not support", "use video_data_param");
  if (param.source().empty())
    throw FieldError(kClipOptionsOwn + ".source", "the list of clips is not set",
                     "set it to a file with lines 'FOLDER FIRST_FRAME LABEL'");
  require("new_length", param.new_length(), 1, kMaxLength);
  require("sampling_rate", param.sampling_rate(), 1, kClipOptionsMaxSide);
  require("new_height", param.new_height(), 0, kClipOptionsMaxSide);
  require("new_width", param.new_width(), 0, kClipOptionsMaxSide);
  if ((param.new_height() > 0) != (param.new_width() > 0))
    throw FieldError(kClipOptionsOwn + (param.new_height() > 0 ? ".new_height" : ".new_width"),
                     "set both new_height and new_width, or neither");
  refuse_further_transforms(layer.transform_param(), "clips are only cropped and mirrored");
  PipelineOptions made = common_options(layer, kClipOptionsOwn, param.batch_size(), 0, options);
  made.source = param.source();
  made.shuffle = param.shuffle() ? Shuffle::kExact : Shuffle::kNone;
  made.transform = make_transform_plan(layer.transform_param(), options.phase, read_files);
  if (made.transform.color == ColorMode::kGray)
    throw FieldError("transform_param.force_gray", "clips have three colours");
  made.transform.color = ColorMode::kColor;
  const ClipSourceOptions clips{param.source(),          param.root_folder(),
                                int(param.new_length()), int(param.sampling_rate()),
                                int(param.new_height()), int(param.new_width())};
  spread_over_frames(made.transform, clips.length);
  made.open = [clips] { return clip_source(clips); };
  return made;
}

}  // namespace cortado::data
