// The meaning of NVIDIA's, Intel's and SSD's options here (for users: docs/augmentation.md).
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "data/augment/augment_options.h"

namespace cortado::data {

namespace {

using caffe::ResizeParameter;
using caffe::TransformationParameter;

const std::string kPath = "transform_param.";
constexpr float kDialectOptionsMaxSide = 65536, kDialectOptionsMaxFactor = 100;

/// Testing uses the middle of the range that training draws from.
Range for_phase(Range range, bool training) { return training ? range : Range{range.middle(), range.middle()}; }

void one_resize(const AugmentPlan& plan, const std::string& field) {
  if (plan.resize.fit != Fit::kNone)
    throw FieldError(kPath + field, "another option already sets the size of images", "keep one of them");
}

Filter filter_of_dialect(TransformationParameter::InterpolationAlgo algo) {
  switch (algo) {
    case TransformationParameter::INTER_LINEAR:
      return Filter::kLinear;
    case TransformationParameter::INTER_CUBIC:
      return Filter::kCubic;
    case TransformationParameter::INTER_AREA:
      return Filter::kArea;
    default:
      return Filter::kNearest;
  }
}

/// soeaver: a random factor out of several.
void add_factors(const TransformationParameter& param, bool training, AugmentPlan& plan) {
  for (int i = 0; i < param.scale_factors_size(); ++i) {
    const float factor = checked(kPath, "scale_factors[" + std::to_string(i) + "]", param.scale_factors(i),
                                 1 / kDialectOptionsMaxFactor, kDialectOptionsMaxFactor);
    if (training) plan.resize.factors.push_back(factor);
  }
}

/// NVIDIA: a random shorter side, then a random factor, then random factors of each side.
void add_random_sizes(const TransformationParameter& param, bool training, AugmentPlan& plan) {
  ResizePlan& resize = plan.resize;
  const bool sides = param.img_rand_resize_lower() > 0 || param.img_rand_resize_upper() > 0;
  const bool ratios = param.rand_resize_ratio_lower() != 0 || param.rand_resize_ratio_upper() != 0;
  if (sides) {
    one_resize(plan, "img_rand_resize_lower");
    const Range side =
        checked_range(kPath, "img_rand_resize_lower", float(param.img_rand_resize_lower()), "img_rand_resize_upper",
                      float(param.img_rand_resize_upper()), 1, kDialectOptionsMaxSide);
    resize.fit = Fit::kShort;
    resize.side = for_phase(side, training);
  }
  if (ratios)
    resize.factor = for_phase(
        checked_range(kPath, "rand_resize_ratio_lower", param.rand_resize_ratio_lower(), "rand_resize_ratio_upper",
                      param.rand_resize_ratio_upper(), 1 / kDialectOptionsMaxFactor, kDialectOptionsMaxFactor),
        training);
  const auto stretch = [&](const std::string& name, float low, float high) {
    const Range range = checked_range(kPath, name + "_lower", low, name + "_upper", high, 1 / kDialectOptionsMaxFactor,
                                      kDialectOptionsMaxFactor);
    return training ? range : Range{1, 1};
  };
  resize.stretch_h = stretch("vertical_stretch", param.vertical_stretch_lower(), param.vertical_stretch_upper());
  resize.stretch_w = stretch("horizontal_stretch", param.horizontal_stretch_lower(), param.horizontal_stretch_upper());
  if (!sides && !ratios && resize.stretch_h.is_one(1) && resize.stretch_w.is_one(1)) return;
  resize.enlarge = param.allow_upscale();
  plan.filters = {filter_of_dialect(param.interpolation_algo_down())};
  plan.filter_up = filter_of_dialect(param.interpolation_algo_up());
  plan.by_direction = true;
  plan.smooth = false;
}

Filter filter_of_dialect(ResizeParameter::Interp_mode mode) {
  switch (mode) {
    case ResizeParameter::AREA:
      return Filter::kArea;
    case ResizeParameter::NEAREST:
      return Filter::kNearest;
    case ResizeParameter::CUBIC:
      return Filter::kCubic;
    case ResizeParameter::LANCZOS4:
      return Filter::kLanczos;
    default:
      return Filter::kLinear;
  }
}

/// Interpolation and padding of any resize_param.
void add_looks(const std::string& path, const ResizeParameter& given, AugmentPlan& plan) {
  if (given.height_scale() > 0 || given.width_scale() > 0)
    throw FieldError(path + (given.height_scale() > 0 ? "height_scale" : "width_scale"),
                     "sizes relative to boxes are not supported", "set height and width");
  plan.filters.clear();
  for (const int mode : given.interp_mode())
    plan.filters.push_back(filter_of_dialect(ResizeParameter::Interp_mode(mode)));
  if (plan.filters.empty()) plan.filters = {Filter::kLinear};
  plan.smooth = false;
  plan.border = given.pad_mode() == ResizeParameter::MIRRORED         ? Border::kReflect
                : given.pad_mode() == ResizeParameter::REPEAT_NEAREST ? Border::kEdge
                                                                      : Border::kFill;
  if (given.pad_value_size() > 0) plan.fill.assign(given.pad_value().begin(), given.pad_value().end());
}

void add_resize(const std::string& path, const ResizeParameter& given, bool training, AugmentPlan& plan) {
  add_looks(path, given, plan);
  plan.resize.height = int(checked(path, "height", float(given.height()), 1, kDialectOptionsMaxSide));
  plan.resize.width = int(checked(path, "width", float(given.width()), 1, kDialectOptionsMaxSide));
  plan.resize.fit = given.resize_mode() == ResizeParameter::WARP             ? Fit::kWarp
                    : given.resize_mode() == ResizeParameter::FIT_SMALL_SIZE ? Fit::kCover
                                                                             : Fit::kPad;
  const float prob = checked(path, "prob", given.prob(), 0, 1);
  plan.resize.prob = training || prob == 0 ? prob : 1;
}

/// Intel: a random part of the image, and a random size.
void add_intel(const TransformationParameter& param, bool training, AugmentPlan& plan) {
  plan.pad = int(checked(kPath, "pad", float(param.pad()), 0, kDialectOptionsMaxSide));
  plan.swap_red_blue = param.bgr2rgb();
  if (param.has_random_resize_param()) {
    const caffe::RandomResizeParameter& given = param.random_resize_param();
    const std::string path = kPath + "random_resize_param.";
    one_resize(plan, "random_resize_param");
    const Range side = checked_range(path, "min_size", float(given.min_size()), "max_size", float(given.max_size()), 1,
                                     kDialectOptionsMaxSide);
    plan.resize.fit = Fit::kShort;
    plan.resize.side = for_phase(side, training);
    add_looks(path + "resize_param.", given.resize_param(), plan);
  }
  if (!param.has_random_aspect_ratio_param()) return;
  const caffe::RandomAspectRatioParameter& given = param.random_aspect_ratio_param();
  const std::string path = kPath + "random_aspect_ratio_param.";
  const float change = checked(path, "aspect_ratio_change", given.aspect_ratio_change(), 1, kDialectOptionsMaxFactor);
  if (plan.part.on) throw FieldError(kPath + "random_aspect_ratio_param", "augment.resized_crop is set as well");
  plan.part.area =
      checked_range(path, "min_area_ratio", given.min_area_ratio(), "max_area_ratio", given.max_area_ratio(), 1e-6f, 1);
  plan.part.aspect = {1 / change, change};
  plan.part.attempts = int(checked(path, "max_attempt", float(given.max_attempt()), 1, 1000));
  plan.part.on = training;
  if (given.has_resize_param()) {
    one_resize(plan, "random_aspect_ratio_param.resize_param");
    add_resize(path + "resize_param.", given.resize_param(), training, plan);
  } else if (param.crop_size() == 0 && param.crop_h() == 0) {
    throw FieldError(kPath + "random_aspect_ratio_param", "there is neither a crop_size nor a resize_param",
                     "set one of them, the size to which the part is resized");
  }
}

}  // namespace

DistortPlan make_distort_plan(const caffe::DistortionParameter& given, const std::string& path) {
  DistortPlan made;
  // deepdetect: one probability for all enabled distortions.
  const float of_all = given.has_prob() ? checked(path, "prob", given.prob(), 0, 1) : 0;
  const auto prob = [&](const std::string& name, float value, bool on) {
    if (!given.has_prob()) return checked(path, name, value, 0, 1);
    return on || given.all_effects() ? of_all : 0;
  };
  made.on = true;
  made.brightness_prob = prob("brightness_prob", given.brightness_prob(), given.brightness());
  made.contrast_prob = prob("contrast_prob", given.contrast_prob(), given.contrast());
  made.hue_prob = prob("hue_prob", given.hue_prob(), given.hue());
  made.saturation_prob = prob("saturation_prob", given.saturation_prob(), given.saturation());
  made.order_prob = prob("random_order_prob", given.random_order_prob(), given.random_order());
  made.brightness = checked(path, "brightness_delta", given.brightness_delta(), 0, 255);
  made.hue = checked(path, "hue_delta", given.hue_delta(), 0, 180);
  made.contrast = checked_range(path, "contrast_lower", given.contrast_lower(), "contrast_upper",
                                given.contrast_upper(), 0, kDialectOptionsMaxFactor);
  made.saturation = checked_range(path, "saturation_lower", given.saturation_lower(), "saturation_upper",
                                  given.saturation_upper(), 0, kDialectOptionsMaxFactor);
  return made;
}

namespace {

void refuse_noise(const caffe::NoiseParameter& given) {
  const std::pair<const char*, bool> refused[] = {{"jpeg", given.jpeg() >= 0},
                                                  {"erode", given.erode()},
                                                  {"clahe", given.clahe()},
                                                  {"convert_to_hsv", given.convert_to_hsv()},
                                                  {"convert_to_lab", given.convert_to_lab()}};
  for (const auto& [name, on] : refused)
    if (on)
      throw FieldError(kPath + "noise_param." + name, "this kind of noise is not supported",
                       "use hist_eq, inverse, decolorize, gauss_blur, posterize or saltpepper");
}

void add_noise(const caffe::NoiseParameter& given, AugmentPlan& plan) {
  const std::string path = kPath + "noise_param.", salt = path + "saltpepper_param.";
  refuse_noise(given);
  NoisePlan& made = plan.spots;
  made.prob = checked(path, "prob", given.prob(), 0, 1);
  const bool all = given.all_effects();
  made.equalize = given.hist_eq() || all;
  made.invert = given.inverse() || all;
  made.gray = given.decolorize() || all;
  made.blur = given.gauss_blur() || all;
  made.posterize = given.posterize() || all;
  if (!given.saltpepper() && !all) return;
  made.salt = checked(salt, "fraction", given.saltpepper_param().fraction(), 0, 1);
  for (const float value : given.saltpepper_param().value())
    made.salt_value.push_back(checked(salt, "value", value, 0, 255));
  if (made.salt_value.size() > 4)
    throw FieldError(salt + "value", "give one value, or one for each of up to 4 channels");
}

/// Several sizes are those from which YOLO draws its batches, each with its own probability. A net is planned for one
/// size, so the first one is always used.
void add_first_resize(const TransformationParameter& param, bool training, AugmentPlan& plan) {
  ResizeParameter first = param.resize_param(0);
  if (param.resize_param_size() > 1) {
    first.set_prob(1);
    log_warning() << "transform_param has " << param.resize_param_size()
                  << " sizes (resize_param); only the first is used: " << first.height() << " x " << first.width();
  }
  add_resize(kPath + "resize_param[0].", first, training, plan);
}

void add_ssd(const TransformationParameter& param, bool training, AugmentPlan& plan) {
  if (param.resize_param_size() > 0) {
    one_resize(plan, "resize_param[0]");
    if (plan.part.on) throw FieldError(kPath + "resize_param[0]", "a random part is resized to the size of the crop");
    add_first_resize(param, training, plan);
  }
  AugmentPlan checked_only;
  AugmentPlan& random = training ? plan : checked_only;
  if (param.has_noise_param()) add_noise(param.noise_param(), random);
  if (param.has_distort_param()) random.distort = make_distort_plan(param.distort_param(), kPath + "distort_param.");
  if (param.geometry_param().prob() != 0)
    throw FieldError(kPath + "geometry_param.prob", "geometry_param is not supported",
                     "set prob to 0, or transform_param.augment with shear and zoom_max");
  if (!param.has_expand_param()) return;
  const std::string path = kPath + "expand_param.";
  random.expand_most =
      checked(path, "max_expand_ratio", param.expand_param().max_expand_ratio(), 1, kDialectOptionsMaxFactor);
  random.expand_prob = random.expand_most > 1 ? checked(path, "prob", param.expand_param().prob(), 0, 1) : 0;
}

void refuse_boxes(const TransformationParameter& param) {
  const std::pair<const char*, bool> refused[] = {{"emit_constraint", param.has_emit_constraint()},
                                                  {"num_labels", param.num_labels() != 0},
                                                  {"flow", param.flow()}};
  for (const auto& [name, on] : refused)
    if (on)
      throw FieldError(kPath + name, "this option is about boxes, masks or flow fields, which this layer does not read",
                       "remove it");
}

}  // namespace

void add_dialect_options(const TransformationParameter& param, bool training, AugmentPlan& plan) {
  refuse_boxes(param);
  add_random_sizes(param, training, plan);
  add_factors(param, training, plan);
  add_intel(param, training, plan);
  add_ssd(param, training, plan);
}

}  // namespace cortado::data
