#include "layers/types/object_labels.h"

#include <algorithm>
#include <cmath>

namespace cortado {

namespace {

constexpr float kObjectLabelsUnclear = 1;  ///< the overlap value of ignored positions

/// Whether position i of an axis lies on the image.
bool on_image(int64_t i, float rate, int first, int length) {
  const auto begin = int64_t(std::round(float(first) / rate));
  return i >= begin && i < begin + int64_t(std::round(float(length) / rate));
}

/// Writes the label and the box of a position; the map has `places` positions.
void set_object(float* to, int64_t places, float label, const Box& box, float border) {
  const float values[5] = {label, (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, box_width(box, border),
                           box_height(box, border)};
  for (int64_t i = 0; i < 5; ++i) to[i * places] = values[i];
}

/// The fraction of a template that `cover` covers.
float coverage(const Box& field, const Box& cover, float border) {
  const float area = box_area(field, border);
  return area > 0 ? box_area(common_part(field, cover), border) / area : 0;
}

int64_t place_of(float at, float rate, int64_t places) {
  return std::clamp<int64_t>(int64_t(std::floor(at / rate)), 0, places - 1);
}

}  // namespace

void ObjectLabels::write(const SampleObjects& sample, const std::vector<float*>& to) {
  found_.assign(sample.objects.size(), {});
  for (size_t i = 0; i < branches_.size(); ++i) write_branch(sample, i, to[i]);
  write_missed(sample, to);
}

void ObjectLabels::write_branch(const SampleObjects& sample, size_t branch, float* to) {
  const ObjectBranch& b = branches_[branch];
  for (int64_t h = 0; h < b.height; ++h)
    for (int64_t w = 0; w < b.width; ++w) {
      const int64_t p = h * b.width + w;
      if (on_image(w, b.rate, sample.left, sample.width) && on_image(h, b.rate, sample.top, sample.height))
        write_place(sample, branch, p, to + p);
      else
        to[5 * b.height * b.width + p] = kObjectLabelsUnclear;
    }
}

void ObjectLabels::write_place(const SampleObjects& sample, size_t branch, int64_t p, float* to) {
  const ObjectBranch& b = branches_[branch];
  const int64_t places = b.height * b.width;
  const Box field = b.field(p / b.width, p % b.width);
  float in_regions = 0;
  for (const Box& region : sample.regions) in_regions += coverage(field, region, rule_.border);
  const bool unclear = in_regions >= rule_.in_regions;
  if (!is_inside(sample, field) || (unclear && !rule_.objects_first)) {
    to[5 * places] = kObjectLabelsUnclear;
    return;
  }
  float best = 0;
  size_t match = 0;
  for (size_t i = 0; i < found_.size(); ++i) {
    const float overlap = box_overlap(sample.objects[i].box, field, rule_.border);
    if (overlap > best) best = overlap, match = i;
    if (overlap > found_[i].overlap) found_[i].overlap = overlap, found_[i].branch = branch;
  }
  const bool matches = best > 0 && best > rule_.fg_threshold;
  to[5 * places] = unclear && !matches ? kObjectLabelsUnclear : best;
  if (!matches) return;
  const SampleObject& object = sample.objects[match];
  set_object(to, places, object.ignored ? 0 : object.label, object.box, rule_.border);
  found_[match].matched = true;
}

bool ObjectLabels::is_inside(const SampleObjects& sample, const Box& field) const {
  const auto left = float(sample.left), top = float(sample.top);
  const float right = left + float(sample.width), bottom = top + float(sample.height);
  if (std::isfinite(rule_.margin)) {
    const float margin_x = rule_.margin * box_width(field) / 2, margin_y = rule_.margin * box_height(field) / 2;
    return field.x0 >= left - margin_x && field.x1 < right + margin_x && field.y0 >= top - margin_y &&
           field.y1 < bottom + margin_y;
  }
  return rule_.least_inside < 0 || !(coverage(field, {left, top, right, bottom}, rule_.border) < rule_.least_inside);
}

/// Assigns each unmatched object the position at its centre, in the branch with the best-fitting template.
void ObjectLabels::write_missed(const SampleObjects& sample, const std::vector<float*>& to) {
  for (size_t i = 0; i < found_.size(); ++i) {
    const SampleObject& object = sample.objects[i];
    const Found& found = found_[i];
    if (object.ignored || found.matched || found.overlap < rule_.least_match) continue;
    const ObjectBranch& b = branches_[found.branch];
    const int64_t h = place_of((object.box.y0 + object.box.y1) / 2, b.rate, b.height);
    const int64_t w = place_of((object.box.x0 + object.box.x1) / 2, b.rate, b.width);
    float* place = to[found.branch] + h * b.width + w;
    if (place[0] != 0) continue;
    set_object(place, b.height * b.width, object.label, object.box, rule_.border);
    if (rule_.labels_overlap) place[5 * b.height * b.width] = found.overlap;
  }
}

}  // namespace cortado
