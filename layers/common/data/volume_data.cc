#include "layers/common/data/volume_data.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/rng.h"
#include "core/text/text.h"
#include "data/pipeline/pipeline_options.h"

namespace cortado {

namespace {

constexpr uint64_t kVolumeKey = 0x564F4C554D45ull;  // separates these draws from others with the same seed
constexpr uint32_t kMaxVolumes = 1 << 16;           // of a batch
const std::string kVolumeOwn = "image_data_param.";

/// The message has options of several data layers.
void refuse_other_options(const caffe::ImageDataParameter& param) {
  static const std::vector<std::string> known = {"source",     "batch_size",         "rand_skip",   "shuffle",
                                                 "mean_value", "num_truth_channels", "truth_scale", "is_flow",
                                                 "clip_min",   "use_byte_input",     "clip_max",    "show_data"};
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  param.GetReflection()->ListFields(param, &fields);
  for (const auto* field : fields)
    if (std::find(known.begin(), known.end(), field->name()) == known.end())
      throw FieldError(kVolumeOwn + field->name(), "it is not supported for volumes", "remove it");
}

}  // namespace

VolumeDataLayer::VolumeDataLayer(const LayerOptions& options, const VoxelTruth& truth)
    : RecordLayer(options.share, int64_t(options.config.image_data_param().batch_size())),
      param_(options.config.image_data_param()),
      transform_(options.config.transform_param()),
      truth_(truth),
      open_data_(options.open_data),
      training_(options.phase == caffe::TRAIN),
      seed_(options.seed) {
  check_options();
  if (param_.rand_skip() > 0) skipped_ = RandomStream(mix_key(seed_, kVolumeKey)).below(param_.rand_skip());
}

void VolumeDataLayer::check_options() const {
  refuse_other_options(param_);
  if (param_.source().empty())
    throw FieldError(kVolumeOwn + "source", "the list of volumes is not set",
                     "set it to a file with the path of a volume on each line");
  if (param_.batch_size() < 1 || param_.batch_size() > kMaxVolumes)
    throw FieldError(kVolumeOwn + "batch_size", "it is " + std::to_string(param_.batch_size()) +
                                                    ", but must be from 1 to " + std::to_string(kMaxVolumes));
  if (truth_.channels < 1)
    throw FieldError(kVolumeOwn + "num_truth_channels", "it is not set", "set the number of channels of the truth");
  if (truth_.clips && !(truth_.clip_max > truth_.clip_min))
    throw FieldError(kVolumeOwn + "clip_max",
                     "it is " + to_text(truth_.clip_max) + ", but must be above clip_min, " + to_text(truth_.clip_min));
  data::refuse_transforms_but({"crop_size", "mirror", "scale", "mean_file", "mean_value"}, transform_,
                              "volumes are only cropped and mirrored",
                              "use crop_size, mirror, scale, mean_file or mean_value");
  if (transform_.mean_value_size() > 1)
    throw FieldError("transform_param.mean_value[1]", "volumes have one mean value for all channels", "set one");
  if (transform_.has_mean_file() && (transform_.mean_value_size() > 0 || param_.has_mean_value()))
    throw FieldError("transform_param.mean_file", "a mean value is set as well", "set either of them");
}

void VolumeDataLayer::open() {
  list_.emplace(param_.source(), "volume", "use lines with the path of a volume", [this](std::string_view line) {
    paths_.push_back(line);
    return data::LineFault{};
  });
  if (param_.shuffle()) order_.emplace(paths_.size(), paths_.size(), 1, seed_);
  if (transform_.has_mean_file()) mean_ = data::read_mean_file(transform_.mean_file());
  read(skipped_);
  first_ = volume_;
  const int64_t crop = transform_.crop_size();
  height_ = crop > 0 ? crop : first_.height, width_ = crop > 0 ? crop : first_.width;
  if (height_ > first_.height || width_ > first_.width)
    throw FieldError("transform_param.crop_size",
                     "it is " + std::to_string(crop) + ", but the volumes are " + first_.shape_str());
  if (truth_.channels >= first_.channels)
    throw FieldError(kVolumeOwn + "num_truth_channels",
                     "it is " + std::to_string(truth_.channels) + ", but the volumes are " + first_.shape_str(),
                     "volumes have the channels of the data, then those of the truth");
  check_mean();
}

void VolumeDataLayer::check_mean() const {
  const int64_t count = first_.count() / first_.channels * (first_.channels - truth_.channels);
  if (mean_ && int64_t(mean_->values.size()) != count)
    throw FieldError("transform_param.mean_file",
                     "it has " + std::to_string(mean_->values.size()) + " values, but volumes of " +
                         first_.shape_str() + " need " + std::to_string(count),
                     "use a mean of the volumes without the truth");
}

LayerShapes VolumeDataLayer::infer(const std::vector<Shape>&) {
  if (!open_data_) return {.y = {Shape{-1}, Shape{-1}}, .w = {}};
  if (!list_) open();
  const int64_t batch = param_.batch_size();
  return {.y = {Shape{batch, first_.channels - truth_.channels, first_.length, height_, width_},
                Shape{batch, truth_.channels, first_.length, height_, width_}},
          .w = {}};
}

void VolumeDataLayer::read(uint64_t place) {
  const uint64_t count = paths_.size();
  const size_t index = size_t(order_ ? order_->at(place / count, place % count) : place % count);
  try {
    data::read_volume(std::string(paths_[index]), truth_.bytes, volume_);
    if (first_.channels > 0 && !volume_.same_shape(first_))
      throw data::SampleError("the volume is " + volume_.shape_str() + ", but the first one is " + first_.shape_str());
  } catch (const data::SampleError& error) {
    list_->fail(index, paths_[index], error);
  }
}

VolumeDataLayer::Part VolumeDataLayer::draw_part(uint64_t place) const {
  RandomStream stream(mix_key(mix_key(seed_, kVolumeKey), place));
  const auto draw = [&](int64_t spare) { return training_ ? int64_t(stream.below(uint64_t(spare + 1))) : spare / 2; };
  Part part{};
  part.top = draw(first_.height - height_);
  part.left = draw(first_.width - width_);
  part.mirrored = transform_.mirror() && stream.below(2) == 1;
  return part;
}

/// Writes value(v, its index in the file) for the part of a channel; returns the end.
template <typename Value>
float* VolumeDataLayer::write_channel(int64_t channel, const Part& part, float* to, const Value& value) const {
  for (int64_t l = 0; l < first_.length; ++l)
    for (int64_t y = 0; y < height_; ++y)
      for (int64_t x = 0; x < width_; ++x) {
        const int64_t row = (channel * first_.length + l) * first_.height + part.top + y;
        const int64_t i = row * first_.width + part.left + (part.mirrored ? width_ - 1 - x : x);
        *to++ = value(volume_.values[size_t(i)], size_t(i));
      }
  return to;
}

void VolumeDataLayer::write_image(const Part& part, float* to) const {
  const float plain = transform_.mean_value_size() > 0 ? transform_.mean_value(0) : param_.mean_value();
  for (int64_t c = 0; c < first_.channels - truth_.channels; ++c)
    to = write_channel(
        c, part, to, [&](float v, size_t i) { return (v - (mean_ ? mean_->values[i] : plain)) * transform_.scale(); });
}

void VolumeDataLayer::write_truth(const Part& part, float* to) const {
  const float range = truth_.clip_max - truth_.clip_min;
  for (int64_t c = 0; c < truth_.channels; ++c) {
    const float sign = truth_.is_flow && part.mirrored && c == 0 ? -1 : 1;
    to = write_channel(first_.channels - truth_.channels + c, part, to, [&](float v, size_t) {
      if (!truth_.clips) return sign * v * truth_.scale;
      return std::clamp((sign * v - truth_.clip_min) / range, 0.0f, 1.0f);
    });
  }
}

void VolumeDataLayer::forward(Context& context, const Operands& io) {
  float* image = image_of_.begin(context, io.y[0].f32(), io.y[0].count());
  float* truth = truth_of_.begin(context, io.y[1].f32(), io.y[1].count());
  const int64_t batch = param_.batch_size();
  for (int64_t n = 0; n < batch; ++n) {
    const uint64_t place = cursor_.place() + uint64_t(n) + skipped_;
    read(place);
    const Part part = draw_part(place);
    write_image(part, image + n * (io.y[0].count() / batch));
    write_truth(part, truth + n * (io.y[1].count() / batch));
  }
  image_of_.commit(context);
  truth_of_.commit(context);
  cursor_.advance();
}

}  // namespace cortado
