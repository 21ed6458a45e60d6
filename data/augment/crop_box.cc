// Each step crops or widens the previous rectangle or changes its number of pixels. Nothing is resampled between the
// steps: they only determine the positions of the result's pixels in the source.
#include "data/augment/crop_box.h"

#include <algorithm>

#include "data/augment/box_sampling.h"

namespace cortado::data {

namespace {

constexpr double kMaxPixelsOfSide = 1 << 20;

int pixels(double length) { return int(std::clamp(std::round(length), 1.0, kMaxPixelsOfSide)); }

/// Adds a border on every side, in pixels of the placement.
CropBox widened(const CropBox& from, int left, int top, int right, int bottom) {
  const double step_x = from.width / from.columns, step_y = from.height / from.rows;
  const int columns = from.columns + left + right, rows = from.rows + top + bottom;
  return {from.left - left * step_x, from.top - top * step_y, columns * step_x, rows * step_y, columns, rows};
}

CropBox expanded(const AugmentPlan& plan, const CropBox& from, const SampleKey& key) {
  Draws draws(key, Lane::kExpand);
  if (plan.expand_prob <= 0 || !draws.chance(plan.expand_prob)) return from;
  const double ratio = draws.between({1, plan.expand_most});
  const int more_x = pixels(from.columns * ratio) - from.columns, more_y = pixels(from.rows * ratio) - from.rows;
  const int left = draws.below(more_x + 1), top = draws.below(more_y + 1);
  return widened(from, left, top, more_x - left, more_y - top);
}

CropBox cut(const CropBox& from, int left, int top, int columns, int rows) {
  return widened(from, -left, -top, left + columns - from.columns, top + rows - from.rows);
}

/// The largest centred part with an aspect ratio in the range, used if no draw fits.
CropBox largest_part(const PartPlan& plan, const CropBox& from) {
  const double aspect = std::clamp(double(from.columns) / from.rows, double(plan.aspect.low), double(plan.aspect.high));
  const int columns = std::min(from.columns, pixels(from.rows * aspect));
  const int rows = std::min(from.rows, pixels(from.columns / aspect));
  return cut(from, (from.columns - columns) / 2, (from.rows - rows) / 2, columns, rows);
}

CropBox random_part(const PartPlan& plan, const CropBox& from, const SampleKey& key) {
  Draws draws(key, Lane::kPart);
  const double area = double(from.columns) * from.rows;
  for (int attempt = 0; attempt < plan.attempts; ++attempt) {
    const double share = area * draws.between(plan.area), aspect = draws.between_logs(plan.aspect);
    const int columns = pixels(std::sqrt(share * aspect)), rows = pixels(std::sqrt(share / aspect));
    if (columns > from.columns || rows > from.rows) continue;
    const int left = draws.below(from.columns - columns + 1), top = draws.below(from.rows - rows + 1);
    return cut(from, left, top, columns, rows);
  }
  return largest_part(plan, from);
}

CropBox with_pixels(CropBox from, int columns, int rows) {
  from.columns = columns;
  from.rows = rows;
  return from;
}

CropBox scaled(const ResizePlan& plan, const CropBox& from, double x, double y) {
  const double most = plan.enlarge ? kMaxPixelsOfSide : 1.0;
  return with_pixels(from, pixels(from.columns * std::min(x, most)), pixels(from.rows * std::min(y, most)));
}

CropBox fitted(const ResizePlan& plan, const CropBox& from, Draws& draws) {
  const double to_height = double(plan.height) / from.rows, to_width = double(plan.width) / from.columns;
  switch (plan.fit) {
    case Fit::kNone:
      return from;
    case Fit::kWarp:
      return with_pixels(from, plan.width, plan.height);
    case Fit::kShort: {
      const double side = pixels(draws.between(plan.side)), scale = side / std::min(from.columns, from.rows);
      return scaled(plan, from, scale, scale);
    }
    case Fit::kCover:
      return scaled(plan, from, std::max(to_height, to_width), std::max(to_height, to_width));
    case Fit::kPad:
      break;
  }
  const double scale = std::min(to_height, to_width);
  const CropBox inner = with_pixels(from, std::min(plan.width, pixels(from.columns * scale)),
                                    std::min(plan.height, pixels(from.rows * scale)));
  const int more_x = plan.width - inner.columns, more_y = plan.height - inner.rows;
  return widened(inner, more_x / 2, more_y / 2, more_x - more_x / 2, more_y - more_y / 2);
}

CropBox resized(const ResizePlan& plan, const CropBox& from, const SampleKey& key) {
  Draws draws(key, Lane::kResize);
  if (!draws.chance(plan.prob)) return from;
  const CropBox fit = fitted(plan, from, draws);
  double factor = draws.between(plan.factor);
  if (!plan.factors.empty()) factor *= plan.factors[size_t(draws.below(int(plan.factors.size())))];
  const double x = factor * draws.between(plan.stretch_w), y = factor * draws.between(plan.stretch_h);
  return x == 1 && y == 1 ? fit : scaled(plan, fit, x, y);
}

}  // namespace

CropBox place_sample(const TransformPlan& plan, int height, int width, const SampleKey& key,
                     std::span<const Object> objects) {
  const AugmentPlan& augment = plan.augment;
  CropBox place{0, 0, double(width), double(height), width, height};
  if (!augment.moves) return place;
  place = expanded(augment, place, key);
  if (!augment.samplers.empty()) {
    const CropBox part = sampled_part(augment.samplers, place, objects, height, width, key);
    place = augment.parts_fill_image ? with_pixels(part, place.columns, place.rows) : part;
  }
  if (augment.jitter_edges > 0) place = jittered(augment.jitter_edges, place, key);
  if (augment.part.on) {
    place = random_part(augment.part, place, key);
    if (augment.resize.fit == Fit::kNone) place = with_pixels(place, plan.crop_w, plan.crop_h);
  }
  place = resized(augment.resize, place, key);
  return widened(place, augment.pad, augment.pad, augment.pad, augment.pad);
}

}  // namespace cortado::data
