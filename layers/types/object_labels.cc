#include "layers/types/object_labels.h"

#include <algorithm>
#include <cmath>

namespace cortado {

namespace {

constexpr float kInRegions = 0.4f;         ///< templates with this fraction in ignored regions are ignored
constexpr float kLeastMatch = 0.2f;        ///< objects that overlap every template by less get no label
constexpr float kObjectLabelsUnclear = 1;  ///< the overlap value of ignored positions

/// Whether position i of an axis lies on the image.
bool on_image(int64_t i, float rate, int first, int length) {
  const auto begin = int64_t(std::round(float(first) / rate));
  return i >= begin && i < begin + int64_t(std::round(float(length) / rate));
}

/// Writes the label and the box of a position; the map has `places` positions.
void set_object(float* to, int64_t places, float label, const Box& box) {
  const float values[5] = {label, (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, box_width(box), box_height(box)};
  for (int64_t i = 0; i < 5; ++i) to[i * places] = values[i];
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
  for (const Box& region : sample.regions) in_regions += box_coverage(field, region);
  if (in_regions >= kInRegions) {
    to[5 * places] = kObjectLabelsUnclear;
    return;
  }
  float best = 0;
  size_t match = 0;
  for (size_t i = 0; i < found_.size(); ++i) {
    const float overlap = box_overlap(sample.objects[i].box, field);
    if (overlap > best) best = overlap, match = i;
    if (overlap > found_[i].overlap) found_[i].overlap = overlap, found_[i].branch = branch;
  }
  to[5 * places] = best;
  if (!(best > 0 && best > fg_threshold_)) return;
  const SampleObject& object = sample.objects[match];
  set_object(to, places, object.ignored ? 0 : object.label, object.box);
  found_[match].matched = true;
}

/// Assigns each unmatched object the position at its centre, in the branch with the best-fitting template.
void ObjectLabels::write_missed(const SampleObjects& sample, const std::vector<float*>& to) {
  for (size_t i = 0; i < found_.size(); ++i) {
    const SampleObject& object = sample.objects[i];
    const Found& found = found_[i];
    if (object.ignored || found.matched || found.overlap < kLeastMatch) continue;
    const ObjectBranch& b = branches_[found.branch];
    const int64_t h = place_of((object.box.y0 + object.box.y1) / 2, b.rate, b.height);
    const int64_t w = place_of((object.box.x0 + object.box.x1) / 2, b.rate, b.width);
    float* place = to[found.branch] + h * b.width + w;
    if (place[0] == 0) set_object(place, b.height * b.width, object.label, object.box);
  }
}

}  // namespace cortado
