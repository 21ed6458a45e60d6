#pragma once

// YOLO's predictions. Each cell of a grid over the image has some boxes. Each box has five numbers (x, y, w, h and the
// objectness) and one for each class. They are channels, box by box, so a blob is N x boxes (5 + classes) x H x W.
// Anchors are typical sizes of boxes, in pixels (v3) or cells (v2):
//   centre = (column + sigmoid(x)) / W, (row + sigmoid(y)) / H    width = exp(w) anchor / W / unit, height likewise
// where `unit` is the side of a cell in the anchors' unit.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/box.h"
#include "core/host_device.h"
#include "core/shape.h"
#include "proto/cortado.pb.h"

namespace cortado {

/// Relative to the image's size.
struct CentreBox {
  float x, y, w, h;
};

CORTADO_HD inline Box corners_of(const CentreBox& box) {
  return {box.x - box.w / 2, box.y - box.h / 2, box.x + box.w / 2, box.y + box.h / 2};
}

/// The overlap of two boxes with the same centre.
CORTADO_HD inline float shape_overlap(float w0, float h0, float w1, float h1) {
  const float common = fminf(w0, w1) * fminf(h0, h1);
  return common / (w0 * h0 + w1 * h1 - common);
}

CORTADO_HD inline float sigmoid_of(float x) { return 1 / (1 + expf(-x)); }

struct Anchors {
  const float* sizes;     ///< width and height of each anchor
  int64_t count;          ///< of all grids
  const int32_t* chosen;  ///< the anchor of each box of a cell
  float unit;
};

/// Where the numbers of a box are stored. A slot is box * cells() + cell, the index of a box in an image's grid.
struct BoxGrid {
  int64_t images, boxes, classes, height, width;

  CORTADO_HD int64_t cells() const { return height * width; }
  CORTADO_HD int64_t slots() const { return boxes * cells(); }
  CORTADO_HD int64_t numbers() const { return 5 + classes; }
  /// The index of x; the other numbers follow at a stride of cells().
  CORTADO_HD int64_t at(int64_t image, int64_t slot) const {
    return (image * boxes + slot / cells()) * numbers() * cells() + slot % cells();
  }
  CORTADO_HD int64_t column(int64_t slot) const { return slot % width; }
  CORTADO_HD int64_t row(int64_t slot) const { return slot % cells() / width; }
  CORTADO_HD float anchor_width(const Anchors& anchors, int64_t which) const {
    return anchors.sizes[2 * which] / (float(width) * anchors.unit);
  }
  CORTADO_HD float anchor_height(const Anchors& anchors, int64_t which) const {
    return anchors.sizes[2 * which + 1] / (float(height) * anchors.unit);
  }

  /// The box whose numbers start at x[at].
  CORTADO_HD CentreBox box(const float* x, int64_t at, int64_t slot, const Anchors& anchors) const {
    const int64_t which = anchors.chosen[slot / cells()];
    return {(float(column(slot)) + sigmoid_of(x[at])) / float(width),
            (float(row(slot)) + sigmoid_of(x[at + cells()])) / float(height),
            expf(x[at + 2 * cells()]) * anchor_width(anchors, which),
            expf(x[at + 3 * cells()]) * anchor_height(anchors, which)};
  }
};

/// The anchors in `biases`, the value of `field`. Throws FieldError.
std::vector<float> anchors_of(const google::protobuf::RepeatedField<float>& biases, const std::string& field);

/// The anchors that `mask`, the value of `field`, selects for `count` boxes. An empty mask selects all anchors, if
/// there are as many as boxes. Throws FieldError.
std::vector<int32_t> chosen_anchors(const google::protobuf::RepeatedField<uint32_t>& mask, const std::string& field,
                                    int64_t anchors, int64_t count);

/// The grid of bottom `index`, of shape `x`. Throws FieldError.
BoxGrid grid_of(const Shape& x, int64_t index, int64_t boxes, int64_t classes);

}  // namespace cortado
