#pragma once

// The labels of a branch's positions in MS-CNN's data: N x 6 x H x W. The channels are the class of the object that
// matches a position's template (0: background); the object's centre, width and height in pixels; and the overlap of
// template and object.

#include <cmath>
#include <string>

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
};

/// Classes and positions from the shapes of a branch N x (K + 4) x H x W and of labels. Throws FieldError, also for
/// cls_num and coord_num of the message `field`.
BranchLabels branch_labels(const Shape& x, const Shape& labels, int64_t cls_num, int64_t coord_num,
                           const caffe::LossParameter& loss, const std::string& field);

/// Throws Error(kData) at the first label that is neither ignored nor a class. `values` may be on a device.
void validate_branch_labels(Context& context, const Tensor& values, BranchLabels labels);

}  // namespace cortado
