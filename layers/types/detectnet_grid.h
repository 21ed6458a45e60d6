#pragma once

// The label grid of DetectNet (NVIDIA's Caffe, detectnet_groundtruth_param). A cell is a square of `stride` pixels. Its
// numbers are
//   0        1 if an object covers it, else 0, as all others
//   1 to 4   the object's left, top, right and bottom edge in pixels, relative to the cell's upper left corner
//   5 and 6  1 / the object's width, 1 / its height
//   7        max(m, the cell's area / the area of the coverage); m is 0 with obj_norm, else 1
//   8 to     for each class 1 if it is the object's, else 0
//
// An object covers the cells that its box, shrunk around its centre, overlaps. Its sides are scale_cvg times those of
// the box, limited by gridbox_type: GRIDBOX_MAX, to at most max_cvg_len; GRIDBOX_MIN, to at least min_cvg_len, but at
// most the side of the box. Of several objects the last has the cell. With crop_bboxes boxes are first cut to the
// image. Objects of classes without a mapping, and empty ones, are ignored.

#include <map>
#include <span>

#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

struct DetectNetBox {
  double x, y, width, height;  ///< the upper left corner; pixels
  int64_t label;               ///< before the mapping of classes
};

class DetectNetGrid {
 public:
  /// Throws FieldError.
  explicit DetectNetGrid(const caffe::DetectNetGroundTruthParameter& param);

  /// Channels x height x width.
  Shape shape() const { return {channels_, height_, width_}; }

  /// Writes all values of the grid of one image.
  void write(std::span<const DetectNetBox> boxes, float* to) const;

 private:
  void write_box(const DetectNetBox& box, int64_t label, float* to) const;
  double covered(double side) const;

  const caffe::DetectNetGroundTruthParameter& param_;
  std::map<int64_t, int64_t> classes_;
  int64_t channels_ = 0, height_ = 0, width_ = 0;
};

}  // namespace cortado
