#include "data/augment/augment_options.h"

#include <cmath>

#include "core/error.h"

namespace cortado::data {

namespace {

using caffe::AugmentParameter;
using caffe::TransformationParameter;

const std::string kTransform = "transform_param.", kAugment = "transform_param.augment.";
constexpr float kAugmentOptionsMaxSide = 65536, kAugmentOptionsMaxFactor = 100;

std::string text(float value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", double(value));
  return buffer;
}

float share(const std::string& name, float value) { return checked(kAugment, name, value, 0, 1); }

Range areas(const std::string& path, float low, float high) {
  return checked_range(path, "min_area", low, "max_area", high, 1e-6f, 1);
}

Range aspects(const std::string& path, float low, float high) {
  return checked_range(path, "min_aspect", low, "max_aspect", high, 1 / kAugmentOptionsMaxFactor,
                       kAugmentOptionsMaxFactor);
}

Filter filter_of(AugmentParameter::Filter filter) {
  switch (filter) {
    case AugmentParameter::NEAREST:
      return Filter::kNearest;
    case AugmentParameter::CUBIC:
      return Filter::kCubic;
    case AugmentParameter::AREA:
      return Filter::kArea;
    case AugmentParameter::LANCZOS:
      return Filter::kLanczos;
    default:
      return Filter::kLinear;
  }
}

/// Options of both phases: sizes and filters.
void add_sizes(const TransformationParameter& param, bool training, AugmentPlan& plan) {
  const AugmentParameter& augment = param.augment();
  plan.filters = {filter_of(augment.filter())};
  plan.smooth = augment.smooth();
  plan.border = augment.border() == AugmentParameter::EDGE      ? Border::kEdge
                : augment.border() == AugmentParameter::REFLECT ? Border::kReflect
                                                                : Border::kFill;
  plan.fill.assign(augment.fill_value().begin(), augment.fill_value().end());
  if (augment.short_side_max() > 0 && augment.short_side() == 0)
    throw FieldError(kAugment + "short_side_max", "short_side is not set",
                     "set both: the shorter side is drawn between them");
  if (augment.short_side() == 0) return;
  const float low = float(augment.short_side());
  const float high = augment.short_side_max() > 0 ? float(augment.short_side_max()) : low;
  plan.resize.fit = Fit::kShort;
  plan.resize.side = checked_range(kAugment, "short_side", low, "short_side_max", high, 1, kAugmentOptionsMaxSide);
  if (!training) plan.resize.side.low = plan.resize.side.high = std::round(plan.resize.side.middle());
}

void add_part(const TransformationParameter& param, bool training, AugmentPlan& plan) {
  const AugmentParameter& augment = param.augment();
  if (!augment.has_resized_crop()) return;
  const caffe::ResizedCropParameter& given = augment.resized_crop();
  const std::string path = kAugment + "resized_crop.";
  const uint32_t crop = param.crop_size() > 0 ? param.crop_size() : std::min(param.crop_h(), param.crop_w());
  if (crop == 0)
    throw FieldError(kAugment + "resized_crop", "crop_size is not set",
                     "set crop_size, the size to which the part is resized");
  plan.part.area = areas(path, given.min_area(), given.max_area());
  plan.part.aspect = aspects(path, given.min_aspect(), given.max_aspect());
  plan.part.on = training;
  if (training) {
    plan.resize.fit = Fit::kNone;
  } else if (plan.resize.fit == Fit::kNone) {  // 256 for 224
    const float side = std::round(float(std::max({crop, param.crop_h(), param.crop_w()})) * 8 / 7);
    plan.resize.fit = Fit::kShort;
    plan.resize.side = {side, side};
  }
}

void add_motions(const AugmentParameter& augment, AugmentPlan& plan) {
  plan.flip_h = share("flip_h", augment.flip_h());
  plan.flip_v = share("flip_v", augment.flip_v());
  plan.motion.rotate = checked(kAugment, "rotate", augment.rotate(), 0, 180);
  plan.motion.shear = checked(kAugment, "shear", augment.shear(), 0, 60);
  plan.motion.translate = share("translate", augment.translate());
  plan.motion.zoom = checked_range(kAugment, "zoom_min", augment.zoom_min(), "zoom_max", augment.zoom_max(),
                                   1 / kAugmentOptionsMaxFactor, kAugmentOptionsMaxFactor);
}

void add_colors(const AugmentParameter& augment, AugmentPlan& plan) {
  plan.jitter.prob = share("jitter_prob", augment.jitter_prob());
  plan.jitter.brightness = share("brightness", augment.brightness());
  plan.jitter.contrast = share("contrast", augment.contrast());
  plan.jitter.saturation = share("saturation", augment.saturation());
  plan.jitter.hue = checked(kAugment, "hue", augment.hue(), 0, 0.5f);
  plan.grayscale = share("grayscale", augment.grayscale());
  plan.noise = checked(kAugment, "noise", augment.noise(), 0, 255);
  if (augment.has_blur()) {
    const caffe::BlurParameter& blur = augment.blur();
    plan.blur.prob = checked(kAugment, "blur.prob", blur.prob(), 0, 1);
    plan.blur.sigma =
        checked_range(kAugment + "blur.", "min_sigma", blur.min_sigma(), "max_sigma", blur.max_sigma(), 0.01f, 16);
  }
  if (augment.has_erase()) {
    const caffe::EraseParameter& erase = augment.erase();
    const std::string path = kAugment + "erase.";
    plan.erase.prob = checked(path, "prob", erase.prob(), 0, 1);
    plan.erase.area = areas(path, erase.min_area(), erase.max_area());
    plan.erase.aspect = aspects(path, erase.min_aspect(), erase.max_aspect());
    plan.erase.noise = erase.value() == caffe::EraseParameter::NOISE;
  }
}

void add_policy(const AugmentParameter& augment, AugmentPlan& plan) {
  constexpr uint32_t kMaxOps = 8;
  const bool automatic = augment.auto_augment() != AugmentParameter::NONE;
  if (automatic)
    plan.policy = augment.auto_augment() == AugmentParameter::IMAGENET ? Policy::kImageNet : Policy::kCifar10;
  if (!augment.has_rand_augment()) return;
  if (automatic) throw FieldError(kAugment + "rand_augment", "auto_augment is set as well", "choose one policy");
  const caffe::RandAugmentParameter& rand = augment.rand_augment();
  if (rand.ops() < 1 || rand.ops() > kMaxOps)
    throw FieldError(kAugment + "rand_augment.ops", "from 1 to " + std::to_string(kMaxOps) + " operations");
  plan.policy = Policy::kRandAugment;
  plan.policy_ops = int(rand.ops());
  plan.magnitude = checked(kAugment, "rand_augment.magnitude", rand.magnitude(), 0, 30);
}

/// The label top has the same shape in both phases; testing does not mix.
void add_mix(const AugmentParameter& augment, bool training, AugmentPlan& plan) {
  if (!augment.has_mix()) return;
  constexpr uint32_t kMaxClasses = 1 << 24;
  const caffe::MixParameter& mix = augment.mix();
  const std::string path = kAugment + "mix.";
  if (mix.classes() < 1 || mix.classes() > kMaxClasses)
    throw FieldError(path + "classes", "the number of classes is not set", "set classes, for one weight per class");
  plan.mix.classes = int(mix.classes());
  plan.mix.mixup_alpha = checked(path, "mixup_alpha", mix.mixup_alpha(), 0, kAugmentOptionsMaxFactor);
  plan.mix.cutmix_alpha = checked(path, "cutmix_alpha", mix.cutmix_alpha(), 0, kAugmentOptionsMaxFactor);
  plan.mix.cutmix_share = checked(path, "cutmix_share", mix.cutmix_share(), 0, 1);
  plan.mix.prob = checked(path, "prob", mix.prob(), 0, 1);
  if (plan.mix.mixup_alpha == 0 && plan.mix.cutmix_alpha == 0)
    throw FieldError(kAugment + "mix", "neither mixup_alpha nor cutmix_alpha is set");
  if (!training) plan.mix.prob = 0;
}

void check_fill(const AugmentPlan& plan) {
  for (const float value : plan.fill)
    if (!std::isfinite(value)) throw FieldError(kAugment + "fill_value", "not a number");
  if (plan.fill.size() > 4)
    throw FieldError(kAugment + "fill_value", "give one value, or one for each of up to 4 channels");
}

void sum_up(AugmentPlan& plan) {
  const ResizePlan& resize = plan.resize;
  const bool resizes = resize.fit != Fit::kNone || !resize.factors.empty() || !resize.factor.is_one(1) ||
                       !resize.stretch_h.is_one(1) || !resize.stretch_w.is_one(1);
  const bool policy = plan.policy != Policy::kNone;
  plan.moves = plan.part.on || resizes || plan.expand_prob > 0 || plan.pad > 0 || plan.motion.on() || policy ||
               plan.blur.prob > 0 || (plan.spots.prob > 0 && plan.spots.blur);
  const NoisePlan& spots = plan.spots;
  plan.colors = policy || plan.jitter.on() || plan.distort.on || plan.grayscale > 0 || plan.swap_red_blue ||
                (spots.prob > 0 && (spots.equalize || spots.invert || spots.gray || spots.posterize));
  plan.looks = plan.colors || plan.motion.on() || plan.flip_h > 0 || plan.flip_v > 0 || plan.blur.prob > 0 ||
               plan.noise > 0 || plan.erase.prob > 0 || spots.prob > 0;
}

/// Samples of different sizes do not form a batch.
void check_sizes(const TransformationParameter& param, const AugmentPlan& plan) {
  if (param.crop_size() > 0 || param.crop_h() > 0) return;
  const ResizePlan& resize = plan.resize;
  const bool fixed = resize.fit == Fit::kWarp || resize.fit == Fit::kPad;
  const bool random = (resize.fit == Fit::kShort && !resize.side.is_one(resize.side.low)) ||
                      resize.factors.size() > 1 || !resize.factor.is_one(resize.factor.low) ||
                      !resize.stretch_h.is_one(resize.stretch_h.low) ||
                      !resize.stretch_w.is_one(resize.stretch_w.low) || resize.prob < 1 ||
                      ((plan.expand_prob > 0 || plan.part.on) && !fixed);
  if (random)
    throw FieldError(kTransform + "crop_size",
                     "images are resized at random, so without a crop the samples of a batch have different sizes",
                     "set crop_size");
}

}  // namespace

float checked(const std::string& path, const std::string& name, float value, float least, float most) {
  if (value >= least && value <= most) return value;  // false for NaN
  throw FieldError(path + name, name + " is " + text(value) + "; it must be from " + text(least) + " to " + text(most));
}

Range checked_range(const std::string& path, const std::string& low_name, float low, const std::string& high_name,
                    float high, float least, float most) {
  checked(path, low_name, low, least, most);
  checked(path, high_name, high, least, most);
  if (low > high)
    throw FieldError(path + high_name, high_name + " is " + text(high) + ", less than " + low_name + ", " + text(low));
  return {low, high};
}

AugmentPlan make_augment_plan(const TransformationParameter& param, caffe::Phase phase) {
  const bool training = phase == caffe::TRAIN;
  AugmentPlan plan, tested;
  add_sizes(param, training, plan);
  add_part(param, training, plan);
  AugmentPlan& random = training ? plan : tested;  // testing only checks these options
  add_motions(param.augment(), random);
  add_colors(param.augment(), random);
  add_policy(param.augment(), random);
  add_mix(param.augment(), training, plan);
  add_dialect_options(param, training, plan);
  if (!training) plan.filters.resize(1);
  check_fill(plan);
  sum_up(plan);
  check_sizes(param, plan);
  return plan;
}

}  // namespace cortado::data
