// Converts video_data_param of C3D and TSN to a pipeline's options. A clip is an image with the channels of all frames,
// so they are cropped and mirrored alike.
#include "core/error.h"
#include "data/pipeline/pipeline_options.h"
#include "data/sources/clip_source.h"
#include "data/sources/frame_name.h"

namespace cortado::data {

namespace {

const std::string kClipOptionsOwn = "video_data_param";
constexpr uint32_t kClipOptionsMaxSide = 1 << 16, kMaxLength = 1 << 12;

void refuse_cameras(const caffe::VideoDataParameter& param) {
  const char* camera = param.has_video_type()    ? "video_type"
                       : param.has_device_id()   ? "device_id"
                       : param.has_video_file()  ? "video_file"
                       : param.has_skip_frames() ? "skip_frames"
                                                 : nullptr;
  if (camera)
    throw FieldError(kClipOptionsOwn + "." + camera, "cameras are not supported, only lists of videos or frames",
                     "list videos in source, and set use_image: false");
  if (param.use_temporal_jitter() && param.use_image())
    throw FieldError(kClipOptionsOwn + ".use_temporal_jitter", "the number of frames is known only for videos",
                     "list clips with several first frames, and shuffle them");
}

/// Reads TSN's options.
void set_segments(const caffe::VideoDataParameter& param, caffe::Phase phase, ClipSourceOptions& clips) {
  if (!param.use_image() || param.has_sampling_rate())
    throw FieldError(kClipOptionsOwn + (param.use_image() ? ".sampling_rate" : ".use_image"),
                     "segments are parts of folders of frames, one after the other", "remove it, or num_segments");
  clips.segments = int(param.num_segments());
  clips.random = phase == caffe::TRAIN;
  clips.flow = param.modality() == caffe::VideoDataParameter::FLOW;
  clips.pattern = param.has_name_pattern() ? param.name_pattern() : clips.flow ? "flow_%c_%04d.jpg" : "image_%04d.jpg";
  const std::string fault = fault_of_frame_name(clips.pattern, clips.flow);
  if (!fault.empty())
    throw FieldError(kClipOptionsOwn + ".name_pattern", "'" + clips.pattern + "': " + fault,
                     clips.flow ? "use a name such as flow_%c_%04d.jpg" : "use a name such as image_%04d.jpg");
}

void require(const char* name, uint32_t value, uint32_t least, uint32_t most) {
  if (value < least || value > most)
    throw FieldError(kClipOptionsOwn + "." + name, std::string(name) + " is " + std::to_string(value) +
                                                       "; it must be from " + std::to_string(least) + " to " +
                                                       std::to_string(most));
}

/// The channel of the mean for each channel of a clip: C3D's are grouped by colour, TSN's by frame.
std::vector<size_t> mean_channels(const ClipSourceOptions& clips, size_t values) {
  std::vector<size_t> made;
  const size_t images = size_t(clips.images());
  for (size_t k = 0; k < size_t(clips.channels()); ++k) made.push_back(clips.segments > 0 ? k % values : k / images);
  return made;
}

/// Repeats the values for the channels of a frame for each frame.
void spread_over_frames(TransformPlan& plan, const ClipSourceOptions& clips) {
  std::vector<float> values;
  const size_t colors = clips.flow ? 2 : 3;
  if (plan.mean_values.size() > 1 && plan.mean_values.size() != colors)
    throw FieldError("transform_param.mean_value", "there are " + std::to_string(plan.mean_values.size()),
                     "set one, or one for each of " + std::string(clips.flow ? "x and y" : "three channels"));
  if (plan.mean_values.size() > 1) {
    for (const size_t c : mean_channels(clips, colors)) values.push_back(plan.mean_values[c]);
    plan.mean_values = values;
  }
  if (!plan.mean || plan.mean->channels != int(colors) || clips.channels() == int(colors)) return;
  MeanImage mean = *plan.mean;
  const size_t pixels = size_t(mean.height) * size_t(mean.width);
  mean.channels = clips.channels();
  mean.values.clear();
  for (const size_t c : mean_channels(clips, colors)) {
    const auto from = plan.mean->values.begin() + int64_t(c * pixels);
    mean.values.insert(mean.values.end(), from, from + int64_t(pixels));
  }
  plan.mean = std::make_shared<const MeanImage>(std::move(mean));
}

}  // namespace

PipelineOptions make_clip_options(const caffe::LayerParameter& layer, const DataOptions& options, bool read_files) {
  const caffe::VideoDataParameter& param = layer.video_data_param();
  refuse_cameras(param);
  if (layer.has_image_data_param())
    throw FieldError("image_data_param", "it has options that VideoData does not support", "use video_data_param");
  if (param.source().empty())
    throw FieldError(kClipOptionsOwn + ".source", "the list of clips is not set",
                     "set it to a file with lines 'FOLDER FIRST_FRAME LABEL'");
  require("new_length", param.new_length(), 1, kMaxLength);
  require("num_segments", param.num_segments(), 1, kMaxLength);
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
  ClipSourceOptions clips{.list = param.source(),
                          .root = param.root_folder(),
                          .length = int(param.new_length()),
                          .rate = int(param.sampling_rate()),
                          .height = int(param.new_height()),
                          .width = int(param.new_width()),
                          .video = !param.use_image(),
                          .jitter = param.use_temporal_jitter(),
                          .seed = made.seed};
  if (has_segments(param)) set_segments(param, options.phase, clips);
  if (clips.images() > int(kMaxLength))
    throw FieldError(kClipOptionsOwn + ".new_length", "a clip has " + std::to_string(clips.images()) +
                                                          " images; the limit is " + std::to_string(kMaxLength));
  spread_over_frames(made.transform, clips);
  made.open = [clips] { return clip_source(clips); };
  return made;
}

}  // namespace cortado::data
