// Converts transform_param to a plan: the options that all dialects share; data/augment/augment_options.h has the
// others.
#include <climits>

#include "core/error.h"
#include "data/augment/augment_options.h"
#include "data/augment/transform.h"

namespace cortado::data {

namespace {

using caffe::TransformationParameter;

std::string field(const std::string& name) { return "transform_param." + name; }

void set_crop(const TransformationParameter& param, TransformPlan& plan) {
  if (param.has_crop_size_l() || param.has_crop_size_h() || param.has_crop_size_w())
    throw FieldError(field(param.has_crop_size_l()   ? "crop_size_l"
                           : param.has_crop_size_h() ? "crop_size_h"
                                                     : "crop_size_w"),
                     "crops of volumes are only for HDF5Data", "use crop_size, or crop_h and crop_w");
  if (param.has_crop_size() && (param.has_crop_h() || param.has_crop_w()))
    throw FieldError(field("crop_size"), "give either crop_size, or crop_h and crop_w");
  if ((param.crop_h() > 0) != (param.crop_w() > 0))
    throw FieldError(field(param.crop_h() > 0 ? "crop_h" : "crop_w"), "set both crop_h and crop_w");
  const uint32_t h = param.crop_size() > 0 ? param.crop_size() : param.crop_h();
  const uint32_t w = param.crop_size() > 0 ? param.crop_size() : param.crop_w();
  constexpr uint32_t kMax = 1 << 16;
  if (h > kMax || w > kMax) throw FieldError(field(param.crop_size() > 0 ? "crop_size" : "crop_h"), "at most 65536");
  plan.crop_h = int(h);
  plan.crop_w = int(w);
}

}  // namespace

TransformPlan make_transform_plan(const TransformationParameter& param, caffe::Phase phase, bool read_files) {
  TransformPlan plan;
  set_crop(param, plan);
  plan.random_crop = phase == caffe::TRAIN && plan.crop_h > 0;
  plan.mirror = param.mirror();
  plan.scale = param.scale();
  plan.random_seed = param.random_seed();
  plan.mean_values.assign(param.mean_value().begin(), param.mean_value().end());
  if (param.has_mean_file() && !plan.mean_values.empty())
    throw FieldError(field("mean_value"), "mean_file is set as well", "set either mean_file or mean_value");
  if (param.force_color() && param.force_gray())
    throw FieldError(field("force_gray"), "force_color is set as well", "an image cannot be both");
  plan.color = param.force_color() ? ColorMode::kColor : param.force_gray() ? ColorMode::kGray : ColorMode::kAsStored;
  plan.augment = make_augment_plan(param, phase);
  if (plan.augment.moves && param.has_mean_file())
    throw FieldError(field("mean_file"), "mean_file does not work with resized or moved images",
                     "set mean_value instead");
  if (param.has_mean_file() && read_files) plan.mean = read_mean_file(param.mean_file());
  return plan;
}

}  // namespace cortado::data
