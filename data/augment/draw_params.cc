// Draws from the ranges: the positions of the result's pixels, the kernels that read them, and the colour changes.
#include <algorithm>
#include <numbers>

#include "data/augment/augment_options.h"
#include "data/augment/crop_box.h"

namespace cortado::data {

namespace {

/// Maps pixels of the placement, counted from (left, top) of the crop, to the source.
Affine way_to_source(const CropBox& place, int left, int top) {
  const double x = place.width / place.columns, y = place.height / place.rows;
  return {{x, 0, place.left + (left + 0.5) * x - 0.5, 0, y, place.top + (top + 0.5) * y - 0.5}};
}

Affine flipped(bool across, bool down, int height, int width) {
  return {{across ? -1.0 : 1.0, 0, across ? width - 1.0 : 0, 0, down ? -1.0 : 1.0, down ? height - 1.0 : 0}};
}

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

Affine moved(const MotionPlan& plan, int height, int width, const SampleKey& key) {
  if (!plan.on()) return {};
  Draws draws(key, Lane::kMotion);
  Motion motion;
  motion.turn = radians(draws.either_side(plan.rotate));
  motion.shear_x = std::tan(radians(draws.either_side(plan.shear)));
  motion.shear_y = std::tan(radians(draws.either_side(plan.shear)));
  motion.move_x = draws.either_side(plan.translate) * width;
  motion.move_y = draws.either_side(plan.translate) * height;
  motion.zoom = draws.between_logs(plan.zoom);
  return way_back(motion, height, width);
}

void draw_filter(const AugmentPlan& plan, const CropBox& place, const SampleKey& key, AugmentParams& params) {
  const int which = plan.filters.size() > 1 ? Draws(key, Lane::kFilter).below(int(plan.filters.size())) : 0;
  params.filter = plan.filters[size_t(which)];
  params.smooth = plan.smooth;
  if (plan.by_direction && place.columns > place.width) params.filter = plan.filter_up;
}

}  // namespace

Distortion draw_distortion(const DistortPlan& plan, const SampleKey& key) {
  Distortion colors;
  if (!plan.on) return colors;
  Draws draws(key, Lane::kDistort);
  if (draws.chance(plan.brightness_prob)) colors.add(brightened(1, draws.either_side(plan.brightness)));
  const bool contrast = draws.chance(plan.contrast_prob), contrast_first = draws.chance(0.5f);
  const double factor = draws.between(plan.contrast);
  if (contrast && contrast_first) colors.add(contrasted(factor, 0));
  if (draws.chance(plan.saturation_prob)) colors.add(saturated(draws.between(plan.saturation)));
  if (draws.chance(plan.hue_prob)) colors.add(hue_turned(radians(2 * draws.either_side(plan.hue))));
  if (contrast && !contrast_first) colors.add(contrasted(factor, 0));
  if (draws.chance(plan.order_prob)) {
    static constexpr int kOrders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int* order = kOrders[draws.below(6)];
    colors.add(reordered(order[0], order[1], order[2]));
  }
  return colors;
}

namespace {

void jitter(const JitterPlan& plan, const SampleKey& key, ColorList& colors) {
  if (!plan.on()) return;
  Draws draws(key, Lane::kJitter);
  if (!draws.chance(plan.prob)) return;
  const double brightness = 1 + draws.either_side(plan.brightness), contrast = 1 + draws.either_side(plan.contrast);
  const double saturation = 1 + draws.either_side(plan.saturation), hue = draws.either_side(plan.hue);
  colors.add(brightened(brightness));
  colors.add(contrasted(contrast, 128));
  colors.add(saturated(saturation));
  if (plan.hue > 0) colors.add(hue_turned(2 * std::numbers::pi * hue));
}

void draw_spots(const NoisePlan& plan, const SampleKey& key, AugmentParams& params, ColorList& colors) {
  constexpr float kBlur = 1.5f;  // standard deviation of gauss_blur
  if (plan.prob <= 0 || !Draws(key, Lane::kSpots).chance(plan.prob)) return;
  if (plan.equalize) colors.equalize();
  if (plan.invert) colors.add(inverted());
  if (plan.gray) colors.add(saturated(0));
  if (plan.posterize) colors.posterize(2);
  if (plan.blur) params.blur = kBlur;
  params.salt = plan.salt;
  for (size_t c = 0; c < 4 && !plan.salt_value.empty(); ++c)
    params.salt_value[c] = plan.salt_value[std::min(c, plan.salt_value.size() - 1)];
}

void draw_erased(const ErasePlan& plan, const SampleKey& key, AugmentParams& params) {
  Draws draws(key, Lane::kErase);
  if (plan.prob <= 0 || !draws.chance(plan.prob)) return;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = draws.between(plan.area) * params.out_height * params.out_width;
    const double aspect = draws.between_logs(plan.aspect);
    const double height = std::round(std::sqrt(area / aspect)), width = std::round(std::sqrt(area * aspect));
    if (height < 1 || width < 1 || height > params.out_height || width > params.out_width) continue;
    const int top = draws.below(params.out_height - int(height) + 1),
              left = draws.below(params.out_width - int(width) + 1);
    params.erased = {top, left, int(height), int(width), plan.noise};
    return;
  }
}

void draw_fill(const TransformPlan& plan, AugmentParams& params) {
  const std::vector<float>& fill = plan.augment.fill.empty() ? plan.mean_values : plan.augment.fill;
  for (size_t c = 0; c < 4 && !fill.empty(); ++c) params.fill[c] = fill[std::min(c, fill.size() - 1)];
  params.border = plan.augment.border;
}

/// Flips, motions and the policy, in the order in which they are applied to the image.
Affine draw_looks(const TransformPlan& plan, bool mirror, const SampleKey& key, AugmentParams& params) {
  const AugmentPlan& augment = plan.augment;
  ColorList colors(params);
  Draws flips(key, Lane::kFlip);
  const bool across = flips.chance(augment.flip_h) != mirror, down = flips.chance(augment.flip_v);
  for (const ColorMatrix& matrix : draw_distortion(augment.distort, key)) colors.add(matrix);
  colors.end_of_image_only();  // as in SSD, where the canvas of expand_param is made after distort_param
  const PolicyChoice policy = apply_policy(augment, params.out_height, params.out_width, key, colors);
  jitter(augment.jitter, key, colors);
  if (augment.grayscale > 0 && Draws(key, Lane::kGray).chance(augment.grayscale)) colors.add(saturated(0));
  Draws blur(key, Lane::kBlur);
  if (blur.chance(augment.blur.prob)) params.blur = float(blur.between(augment.blur.sigma));
  draw_spots(augment.spots, key, params, colors);
  if (augment.swap_red_blue) colors.add(reordered(2, 1, 0));
  params.sharpen = policy.sharpen;
  if (augment.noise > 0) params.noise = float(Draws(key, Lane::kNoise).between({0, augment.noise}));
  draw_erased(augment.erase, key, params);
  Draws pixels(key, Lane::kPixels);
  params.noise_key = uint64_t(pixels.word()) << 32 | pixels.word();
  return flipped(across, down, params.out_height, params.out_width)
      .after(moved(augment.motion, params.out_height, params.out_width, key))
      .after(policy.back);
}

}  // namespace

AugmentParams draw_params(const TransformPlan& plan, int channels, int height, int width, uint64_t given_seed,
                          uint64_t epoch, uint64_t index, std::span<const Object> objects) {
  const uint64_t seed = plan.random_seed >= 0 ? uint64_t(plan.random_seed) : given_seed;
  const SampleKey key{seed, epoch, index};
  check_fits(plan, channels, height, width);
  const CropBox place = place_sample(plan, height, width, key, objects);
  check_crop(plan, channels, place.rows, place.columns);
  AugmentParams params;
  params.channels = channels;
  params.height = height;
  params.width = width;
  params.out_height = plan.crop_h > 0 ? plan.crop_h : place.rows;
  params.out_width = plan.crop_w > 0 ? plan.crop_w : place.columns;
  const int spare_h = place.rows - params.out_height, spare_w = place.columns - params.out_width;
  int top = spare_h / 2, left = spare_w / 2;
  bool mirror = false;
  if (plan.mirror || plan.random_crop) {
    const Philox::Words words = Philox(mix_key(seed, kAugmentKey))(epoch, index);
    mirror = plan.mirror && words.v[0] >> 31 != 0;
    if (plan.random_crop) {
      top = int(uint64_t(words.v[1]) * uint64_t(spare_h + 1) >> 32);
      left = int(uint64_t(words.v[2]) * uint64_t(spare_w + 1) >> 32);
    }
  }
  draw_fill(plan, params);
  draw_filter(plan.augment, place, key, params);
  const Affine looks = plan.augment.looks ? draw_looks(plan, mirror, key, params)
                                          : flipped(mirror, false, params.out_height, params.out_width);
  fix_map(way_to_source(place, left, top).after(looks), params);
  return params;
}

}  // namespace cortado::data
