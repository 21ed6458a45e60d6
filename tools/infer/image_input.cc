#include "tools/infer/image_input.h"

#include <glob.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <sstream>

#include "core/error.h"
#include "core/field_text.h"
#include "core/files/file.h"
#include "core/log.h"
#include "core/text/text.h"
#include "data/formats/mean_file.h"
#include "data/image/image_formats.h"
#include "data/pipeline/pipeline.h"
#include "data/sample.h"
#include "layers/common/data/data_layer.h"
#include "tools/output/terminal.h"

namespace cortado::tools {

namespace {

Place place_in(const LikeNet& like, const std::string& field) {
  return like.file->positions.place("layer[" + std::to_string(like.layer) + "]." + field);
}

/// The options of the data layer in testing. Reads its mean file, unless --mean replaces it.
data::TransformPlan transform_of(const LikeNet& like, bool reads_mean) {
  const caffe::LayerParameter& layer = like.data();
  const std::string& mean = layer.transform_param().mean_file();
  if (reads_mean && !mean.empty() && !file_exists(mean))
    throw Error(ExitCode::kIo, {place_in(like, "transform_param.mean_file"),
                                "the mean file '" + mean + "' does not exist",
                                "add --mean=FILE or --mean=B,G,R, or --like=none to keep images unchanged",
                                {}});
  try {
    return make_pipeline_options(layer, {.phase = caffe::TEST}, reads_mean).transform;
  } catch (const FieldError& error) {
    throw Error(ExitCode::kNet, {place_in(like, error.field()), with_field(error), error.hint(), {}});
  }
}

data::ImageSizes exactly(int64_t height, int64_t width) {
  data::ImageSizes sizes;
  sizes.height = int(height);
  sizes.width = int(width);
  return sizes;
}

/// The size of the dataset's images before cropping, as the layer, the dataset or the mean image defines it. `note` is
/// set if none of these does.
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
  note = "; '" + layer.data_param().source() + "' does not exist, so the size of its images is unknown";
  return exactly(input[2], input[3]);
}

std::string describe(const data::ImagePreparation& how) {
  std::ostringstream text;
  const data::TransformPlan& plan = how.transform;
  if (how.sizes.height > 0)
    text << ", resized to " << how.sizes.height << "x" << how.sizes.width;
  else if (how.sizes.any() || plan.augment.moves)
    text << ", resized";
  if (plan.crop_h > 0) text << ", centre crop " << plan.crop_h << "x" << plan.crop_w;
  if (plan.mean) text << ", minus " << plan.mean->path;
  for (size_t c = 0; c < plan.mean_values.size(); ++c) text << (c == 0 ? ", minus " : " ") << plan.mean_values[c];
  if (plan.scale != 1) text << ", times " << plan.scale;
  return text.str().empty() ? ", unchanged" : text.str();
}

/// False if the shape is known without an image, and differs from the input's.
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
  how.transform.mirror = false;  // no mirroring in testing
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
    const std::string what = like->path + describe(how) + ": the shape differs from the net's input, " + input.str();
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
                                   " channels, but the net's input has " + std::to_string(channels));
}

Flag like_flag() {
  return {.name = "like",
          .kind = FlagKind::kText,
          .value = "NET",
          .help = "prepare images as this net's data layer does in testing: size, crop, mean, scale; 'none': not"};
}

std::vector<Flag> image_input_flags() {
  return {with_note(like_flag(), "by default the model's own, or train_val.prototxt next to it"),
          {.name = "mean",
           .kind = FlagKind::kText,
           .value = "MEAN",
           .help = "subtract this instead: a .binaryproto or .npy, whose channel means are used, or numbers as B,G,R"},
          {.name = "scale",
           .kind = FlagKind::kNumber,
           .value = "X",
           .help = "multiply by this after the mean, instead",
           .fallback = "1"}};
}

namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

void add_folder(const std::string& folder, std::vector<std::string>& files) {
  std::vector<std::string> found;
  try {
    for (auto at = fs::recursive_directory_iterator(folder); at != fs::recursive_directory_iterator(); ++at) {
      std::error_code ignored;
      if (at->is_directory(ignored) && is_hidden(at->path()))
        at.disable_recursion_pending();
      else if (at->is_regular_file(ignored) && !is_hidden(at->path()) && data::is_image_name(at->path().native()))
        found.push_back(at->path());
    }
  } catch (const fs::filesystem_error& error) {
    throw file_error(ExitCode::kIo, folder, "cannot read the folder: " + error.code().message());
  }
  if (found.empty()) throw file_error(ExitCode::kData, folder, "the folder contains no images");
  std::sort(found.begin(), found.end());
  files.insert(files.end(), found.begin(), found.end());
}

void add(const std::string& path, std::vector<std::string>& files) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    add_folder(path, files);
  else
    files.push_back(path);
}

void add_matches(const std::string& pattern, std::vector<std::string>& files) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  const std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status != 0 || paths.empty()) throw file_error(ExitCode::kData, pattern, "no file matches this pattern");
  for (const std::string& path : paths) add(path, files);
}

}  // namespace

std::vector<std::string> image_files(const std::vector<std::string>& operands) {
  std::vector<std::string> files;
  for (const std::string& operand : operands) {
    if (operand.find_first_of("*?[") != std::string::npos && !file_exists(operand))
      add_matches(operand, files);
    else
      add(operand, files);
  }
  return files;
}

int show_bad_image(const std::string& path) {
  try {
    throw;
  } catch (const data::SampleError& error) {
    show_error(Error(ExitCode::kData, file_mistake(path, error.what(), error.hint())).what());
    return int(ExitCode::kData);
  } catch (const Error& error) {
    show_error(error.what());
    return int(error.code());
  }
}

}  // namespace cortado::tools
