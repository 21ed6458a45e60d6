#pragma once

// The labels of a branch's positions in MS-CNN's data: N x 6 x H x W. The channels are the class of the object that
// matches a position's template (0: background); the object's centre, width and height in pixels; and the overlap of
// template and object.

#include <cmath>
#include <string>
#include <vector>

#include "core/box.h"
#include "core/context.h"
#include "core/tensor.h"
#include "proto/cortado.pb.h"

namespace cortado {

struct BranchLabels {
  const float* values;
  int64_t images, places, classes;
  bool ignores;
  float ignored;

  float value(int64_t n, int64_t p, int64_t number) const { return values[(n * 6 + number) * places + p]; }
  float label(int64_t n, int64_t p) const { return value(n, p, 0); }
  float overlap(int64_t n, int64_t p) const { return value(n, p, 5); }
  bool counts(int64_t n, int64_t p) const { return !(ignores && label(n, p) == ignored); }
  bool valid(int64_t n, int64_t p) const {
    const float v = label(n, p);
    return v >= 0 && v < float(classes) && v == std::floor(v);
  }
  bool is_object(int64_t n, int64_t p) const { return counts(n, p) && label(n, p) > 0; }
  /// The box of a position's object. Its sides are the differences of its corners.
  Box object(int64_t n, int64_t p) const {
    const float x = value(n, p, 1), y = value(n, p, 2), half_w = value(n, p, 3) / 2, half_h = value(n, p, 4) / 2;
    return {x - half_w, y - half_h, x + half_w, y + half_h};
  }
};

/// A mean of values, or -1 if there are none.
struct CountedMean {
  double sum = 0;
  int64_t count = 0;
  void add(double value) { sum += value, ++count; }
  float mean() const { return count > 0 ? float(sum / double(count)) : -1; }
};

/// Classes and positions from the shapes of a branch N x (K + 4) x H x W and of labels. Throws FieldError, also for
/// cls_num and coord_num of the message `field`.
BranchLabels branch_labels(const Shape& x, const Shape& labels, int64_t cls_num, int64_t coord_num,
                           const caffe::LossParameter& loss, const std::string& field);

/// The same for the scores, boxes and labels of a branch that lists its templates as images
/// (common/detection/template_group.h). With `objectness` there are two classes, the background and any object; labels
/// may be of any class.
BranchLabels group_labels(const std::vector<Shape>& x, int64_t cls_num, bool objectness,
                          const caffe::LossParameter& loss, const std::string& field);

/// Throws Error(kData) at the first label that is neither ignored nor a class. `values` may be on a device.
void validate_branch_labels(Context& context, const Tensor& values, BranchLabels labels);

}  // namespace cortado
