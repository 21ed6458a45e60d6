#pragma once

// Boxes for tests of YOLO's layers, in double precision.

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/harness/array.h"

namespace cortado::harness {

/// A box: centre and size relative to the image; `score` is for detections.
struct Object {
  int64_t image;
  int label;
  double x, y, w, h, score = 0;
};

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

inline double overlap(const Object& a, const Object& b) {
  const double w = std::min(a.x + a.w / 2, b.x + b.w / 2) - std::max(a.x - a.w / 2, b.x - b.w / 2);
  const double h = std::min(a.y + a.h / 2, b.y + b.h / 2) - std::max(a.y - a.h / 2, b.y - b.h / 2);
  return w > 0 && h > 0 ? w * h / (a.w * a.h + b.w * b.h - w * h) : 0;
}

/// Rows of class, x, y, w, h for each image, padded with zeros.
inline Array by_image(const std::vector<Object>& objects, int64_t images, int64_t rows) {
  Array array({images, 1, rows, 5});
  std::vector<int64_t> used(size_t(images), 0);
  for (const Object& o : objects) {
    const double values[5] = {double(o.label), o.x, o.y, o.w, o.h};
    for (int64_t i = 0; i < 5; ++i) array[size_t((o.image * rows + used[size_t(o.image)]) * 5 + i)] = float(values[i]);
    ++used[size_t(o.image)];
  }
  return array;
}

/// Rows of image, class + 1, instance, corners, difficult.
inline Array with_images(const std::vector<Object>& objects) {
  Array array({1, 1, int64_t(objects.size()), 8});
  for (size_t r = 0; r < objects.size(); ++r) {
    const Object& o = objects[r];
    const double values[8] = {double(o.image), o.label + 1.0, 0, o.x - o.w / 2, o.y - o.h / 2,
                              o.x + o.w / 2,   o.y + o.h / 2, 0};
    for (size_t i = 0; i < 8; ++i) array[r * 8 + i] = float(values[i]);
  }
  return array;
}

/// Non-maximum suppression: drops boxes that overlap a better box of their image by more than `threshold`. Returns rows
/// of image, class + 1, score and corners, by image, padded with zeros to `most` rows; a row of -1 for each image if
/// there are none.
inline Array rows_of_best(std::vector<Object> found, int64_t images, int64_t most, double threshold) {
  std::stable_sort(found.begin(), found.end(), [](const Object& a, const Object& b) {
    return a.image < b.image || (a.image == b.image && a.score > b.score);
  });
  std::vector<Object> kept;
  for (const Object& o : found)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const Object& k) { return k.image == o.image && overlap(k, o) > threshold; }))
      kept.push_back(o);
  Array y({1, 1, most, 7});
  for (size_t r = 0; r < kept.size(); ++r) {
    const Object& o = kept[r];
    const double row[7] = {double(o.image), o.label + 1.0, o.score,      o.x - o.w / 2,
                           o.y - o.h / 2,   o.x + o.w / 2, o.y + o.h / 2};
    std::copy(row, row + 7, y.values.begin() + int64_t(r) * 7);
  }
  for (int64_t i = 0; kept.empty() && i < images * 7; ++i) y[size_t(i)] = i % 7 == 0 ? double(i / 7) : -1;
  return y;
}

}  // namespace cortado::harness
