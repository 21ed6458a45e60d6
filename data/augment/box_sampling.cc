#include "data/augment/box_sampling.h"

#include <algorithm>

#include "data/augment/augment.h"

namespace cortado::data {

namespace {

bool has_center(const Box& part, const Box& object) {
  const float x = (object.x0 + object.x1) / 2, y = (object.y0 + object.y1) / 2;
  return x >= part.x0 && x <= part.x1 && y >= part.y0 && y <= part.y1;
}

/// Whether `part` satisfies the sampler's constraints for one of the objects.
bool satisfies(const PartSampler& sampler, const Box& part, const std::vector<Box>& objects) {
  if (!sampler.constrained()) return true;
  const auto within = [](const std::optional<Range>& wanted, float value) {
    return !wanted || (value >= wanted->low && value <= wanted->high);
  };
  return std::any_of(objects.begin(), objects.end(), [&](const Box& object) {
    return (!sampler.has_center || has_center(part, object)) && within(sampler.overlap, box_overlap(part, object)) &&
           within(sampler.sample_coverage, box_coverage(part, object)) &&
           within(sampler.object_coverage, box_coverage(object, part));
  });
}

Box draw_part(const PartSampler& sampler, Draws& draws) {
  const double scale = draws.between(sampler.scale);
  const Range aspect{std::max(sampler.aspect.low, float(scale * scale)),
                     std::min(sampler.aspect.high, float(1 / (scale * scale)))};
  const double ratio = std::sqrt(draws.between(aspect));
  const double width = std::min(scale * ratio, 1.0), height = std::min(scale / ratio, 1.0);
  const double left = draws.unit() * (1 - width), top = draws.unit() * (1 - height);
  return {float(left), float(top), float(left + width), float(top + height)};
}

/// Converts boxes from fractions of the source to fractions of the placement.
std::vector<Box> seen_from(const CropBox& from, std::span<const Object> objects, int height, int width) {
  std::vector<Box> boxes;
  const auto x = [&](float v) { return float((v * width - from.left) / from.width); };
  const auto y = [&](float v) { return float((v * height - from.top) / from.height); };
  for (const Object& object : objects)
    boxes.push_back({x(object.box.x0), y(object.box.y0), x(object.box.x1), y(object.box.y1)});
  return boxes;
}

CropBox part_of(const CropBox& from, const Box& part) {
  const auto pixels = [](double length) { return std::max(int(std::lround(length)), 1); };
  return {from.left + part.x0 * from.width,       from.top + part.y0 * from.height,
          box_width(part) * from.width,           box_height(part) * from.height,
          pixels(box_width(part) * from.columns), pixels(box_height(part) * from.rows)};
}

bool is_kept(const KeepObjects& keep, const Box& moved) {
  switch (keep.rule) {
    case KeepObjects::kCenter:
      return has_center({0, 0, 1, 1}, moved);
    case KeepObjects::kOverlap:
      return box_coverage(moved, {0, 0, 1, 1}) > keep.overlap;
    default:
      return true;
  }
}

/// Maps coordinates of the source's pixels to fractions of the result: the inverse of the draw's map.
class Forward {
 public:
  explicit Forward(const AugmentParams& params) : width_(params.out_width), height_(params.out_height) {
    for (int k = 0; k < 6; ++k) m_[k] = double(params.map[k]) / double(kOnePixel);
    determinant_ = m_[0] * m_[4] - m_[1] * m_[3];
  }
  bool exists() const { return determinant_ != 0; }

  /// The smallest axis-aligned box around the mapped box.
  Box operator()(const Box& box, int height, int width) const {
    double x0 = 1e30, y0 = 1e30, x1 = -1e30, y1 = -1e30;
    for (const float u : {box.x0, box.x1})
      for (const float v : {box.y0, box.y1}) {
        const double column = double(u) * width - 0.5 - m_[2], row = double(v) * height - 0.5 - m_[5];
        const double x = ((m_[4] * column - m_[1] * row) / determinant_ + 0.5) / width_;
        const double y = ((m_[0] * row - m_[3] * column) / determinant_ + 0.5) / height_;
        x0 = std::min(x0, x), x1 = std::max(x1, x), y0 = std::min(y0, y), y1 = std::max(y1, y);
      }
    return {float(x0), float(y0), float(x1), float(y1)};
  }

 private:
  double m_[6], determinant_;
  int width_, height_;
};

}  // namespace

CropBox sampled_part(const std::vector<PartSampler>& samplers, const CropBox& from, std::span<const Object> objects,
                     int height, int width, const SampleKey& key) {
  const std::vector<Box> boxes = seen_from(from, objects, height, width);
  Draws draws(key, Lane::kSampler);
  std::vector<Box> found;
  for (const PartSampler& sampler : samplers) {
    int64_t of_this = 0;
    for (int64_t trial = 0; trial < sampler.trials && (sampler.most == 0 || of_this < sampler.most); ++trial) {
      const Box part = draw_part(sampler, draws);
      if (!satisfies(sampler, part, boxes)) continue;
      found.push_back(part);
      ++of_this;
    }
  }
  return found.empty() ? from : part_of(from, found[size_t(draws.below(int(found.size())))]);
}

CropBox jittered(double share, const CropBox& from, const SampleKey& key) {
  Draws draws(key, Lane::kSampler);
  const double left = draws.either_side(share), right = draws.either_side(share), top = draws.either_side(share),
               bottom = draws.either_side(share);
  const Box part{float(left), float(top), float(1 - right), float(1 - bottom)};
  return box_width(part) > 0.01f && box_height(part) > 0.01f ? part_of(from, part) : from;
}

void carry_objects(const AugmentParams& params, std::span<const Object> objects, const KeepObjects& keep,
                   std::vector<Object>& carried) {
  carried.clear();
  if (objects.empty()) return;
  const Forward forward(params);
  if (!forward.exists()) return;
  for (const Object& object : objects) {
    if (object.difficult && !keep.difficult) continue;
    const Box moved = forward(object.box, params.height, params.width);
    Object shown = object;
    shown.box = keep.whole ? moved : clipped(moved);
    if (is_kept(keep, moved) && box_area(shown.box) > 0) carried.push_back(shown);
  }
}

}  // namespace cortado::data
