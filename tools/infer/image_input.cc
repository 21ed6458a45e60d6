#include "tools/infer/image_input.h"

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "core/files/file.h"
#include "core/log.h"
#include "data/formats/mean_file.h"
#include "data/pipeline/pipeline.h"
#include "layers/common/data/data_layer.h"

namespace cortado::tools {

namespace {

Place place_in(const LikeNet& like, const std::string& field) {
  return like.file->positions.place("layer[" + std::to_string(like.layer) + "]." + field);
}

/// The options of the data layer in testing; a mean file is read unless --mean is there instead.
data::TransformPlan transform_of(const LikeNet& like, bool reads_mean) {
  const caffe::LayerParameter& layer = like.data();
  const std::string& mean = layer.transform_param().mean_file();
  if (reads_mean && !mean.empty() && !file_exists(mean))
    throw Error(ExitCode::kIo, {place_in(like, "transform_param.mean_file"),
                                "the mean file '" + mean + "', which is to be subtracted from images, does not exist",
                                "--mean=FILE or --mean=B,G,R gives it; --like=none leaves images as they are",
                                {}});
  try {
    return make_pipeline_options(layer, {.phase = caffe::TEST}, reads_mean).transform;
  } catch (const FieldError& error) {
    throw Error(ExitCode::kNet, {place_in(like, error.field()), error.message(), error.hint(), {}});
  }
}

data::ImageSizes exactly(int64_t height, int64_t width) {
  data::ImageSizes sizes;
  sizes.height = int(height);
  sizes.width = int(width);
  return sizes;
}

/// The size that the dataset's images were brought to, by the layer, the dataset or the mean image. `note` says where
/// none of these knows.
data::ImageSizes sizes_of(const LikeNet& like, const data::TransformPlan& plan, const Shape& input, std::string& note) {
  const caffe::LayerParameter& layer = like.data();
  const bool any_size = plan.crop_h > 0 || plan.augment.moves;
  if (layer.has_image_data_param()) {
    const data::ImageSizes sizes = data::image_sizes_of(layer.image_data_param());
    return sizes.any() || any_size ? sizes : exactly(input[2], input[3]);
  }
  if (const auto sizes = data::size_of_images(layer.data_param().source()); sizes && (sizes->any() || any_size))
    return *sizes;
  if (plan.mean) return exactly(plan.mean->height, plan.mean->width);
  if (plan.augment.moves) return {};
  note = "; '" + layer.data_param().source() + "' does not exist, so the size of its images is not known";
  return exactly(input[2], input[3]);
}

std::string describe(const data::ImagePreparation& how) {
  std::ostringstream text;
  const data::TransformPlan& plan = how.transform;
  if (how.sizes.height > 0)
    text << ", resized to " << how.sizes.height << "x" << how.sizes.width;
  else if (how.sizes.any() || plan.augment.moves)
    text << ", resized";
  if (plan.crop_h > 0) text << ", the middle " << plan.crop_h << "x" << plan.crop_w;
  if (plan.mean) text << ", minus " << plan.mean->path;
  for (size_t c = 0; c < plan.mean_values.size(); ++c) text << (c == 0 ? ", minus " : " ") << plan.mean_values[c];
  if (plan.scale != 1) text << ", times " << plan.scale;
  return text.str().empty() ? ", as they are" : text.str();
}

/// False where the shape is known before any image, and is not the input's.
bool makes(const data::ImagePreparation& how, const Shape& input) {
  const data::TransformPlan& plan = how.transform;
  if (plan.crop_h > 0) return plan.crop_h == input[2] && plan.crop_w == input[3];
  if (plan.augment.moves || how.sizes.height == 0) return true;
  return how.sizes.height == input[2] && how.sizes.width == input[3];
}

data::ImagePreparation prepare_like(const Arguments& arguments, const LikeNet& like, const Shape& input,
                                    std::string& note) {
  data::ImagePreparation how;
  how.transform = transform_of(like, !arguments.has("mean"));
  how.transform.mirror = false;  // testing draws nothing
  how.sizes = sizes_of(like, how.transform, input, note);
  return how;
}

void apply_flags(const Arguments& arguments, int channels, data::TransformPlan& plan) {
  plan.color = channels == 1 ? data::ColorMode::kGray : data::ColorMode::kColor;
  if (arguments.has("scale")) plan.scale = float(arguments.number("scale"));
  if (!arguments.has("mean")) return;
  plan.mean = nullptr;
  plan.mean_values = channel_means(arguments.text("mean"), channels);
}

}  // namespace

data::ImagePreparation image_preparation(const Arguments& arguments, std::optional<LikeNet>& like, const Shape& input) {
  data::ImagePreparation how;
  std::string note;
  if (like) how = prepare_like(arguments, *like, input, note);
  if (like && !makes(how, input)) {
    const std::string what = like->path + describe(how) + ": that is not the net's input, " + input.str();
    if (!like->found) throw usage_error("--like=" + what);
    log_warning() << "images are not prepared as in " << what;
    like.reset();
    how = {};
  }
  if (!like) how.sizes = exactly(input[2], input[3]);
  apply_flags(arguments, int(input[1]), how.transform);
  if (like) log_info() << "images are prepared as in " << like->path << describe(how) << note;
  return how;
}

std::vector<float> channel_means(const std::string& text, int channels) {
  std::vector<float> means;
  bool numbers = true;
  for (const std::string& part : split(text, ',')) {
    char* end = nullptr;
    means.push_back(std::strtof(part.c_str(), &end));
    numbers = numbers && !part.empty() && *end == '\0' && std::isfinite(means.back());
  }
  if (numbers) {
    if (means.size() == 1) means.resize(size_t(channels), means[0]);
  } else {
    const auto image = data::read_mean_file(text);
    const size_t plane = size_t(image->height) * size_t(image->width);
    means.clear();
    for (int c = 0; c < image->channels; ++c) {
      const auto first = image->values.begin() + int64_t(size_t(c) * plane);
      means.push_back(float(std::accumulate(first, first + int64_t(plane), 0.0) / double(plane)));
    }
  }
  if (means.size() == size_t(channels)) return means;
  throw Error(ExitCode::kData, "--mean=" + text + " has " + std::to_string(means.size()) +
                                   " channels, the net's input has " + std::to_string(channels));
}

std::vector<Flag> image_input_flags() {
  return {
      {.name = "like",
       .kind = FlagKind::kText,
       .value = "NET",
       .help = "images are prepared as this net's data layer does in testing (size, crop, mean, scale); where it is "
               "not given, as train_val.prototxt beside the model does, if there is one; none: as --mean and --scale "
               "say alone"},
      {.name = "mean",
       .kind = FlagKind::kText,
       .value = "MEAN",
       .help = "subtracted in place of what --like says: a .binaryproto or .npy, of which channel means are taken, or "
               "numbers as B,G,R"},
      {.name = "scale",
       .kind = FlagKind::kNumber,
       .value = "X",
       .help = "factor after the mean, in place of what --like says",
       .fallback = "1"}};
}

}  // namespace cortado::tools
