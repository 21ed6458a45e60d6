#pragma once

// The base of YOLO's losses. bottom[0] is predictions (box_grid.h), bottom[1] the objects of the batch's images. The
// loss is the sum of the costs of all boxes, divided by the number of images. For .cu files.
//
// Objects have one of two formats:
//   N x ... x 5 values: for each image rows of class (from 0), x, y, w, h; the first row with w = 0 ends them
//   1 x 1 x M x 8, SSD's: image (-1: none), class (from 1), instance, left, top, right, bottom, difficult; instance and
//     difficult are ignored
// Coordinates are relative to the image's size. A box without width or height, or with its centre outside the image, is
// ignored. An invalid class or image makes the loss NaN, and validate() reports it.
//
// A derived layer defines the costs by a rule, created anew in each pass:
//   BoxGrid grid; Anchors anchors; const float* x;
//   int64_t slot_of(int64_t image, const CentreBox& object) const;       the box that predicts it; -1: none
//   void add_cost(BoxCost& cost, const JudgedBox& box) const;            for every number of the box
//   static constexpr bool kShowsSquares;   the loss is the sum of the squares of the costs' derivatives instead, which
//                                          backward does not change

#include <cfloat>

#include "core/device/device_memory.h"
#include "core/loops/for_each.h"
#include "layers/common/detection/box_grid.h"
#include "layers/layer.h"
#include "layers/roles.h"

namespace cortado {

struct GridObject {
  CentreBox box;
  int64_t label, slot;
};

/// The objects in bottom[1].
struct ObjectRows {
  const float* values;
  int64_t rows;  ///< per image; of the whole batch if each row names its image
  bool names_image;
  int64_t images, classes;

  enum class Kind { kObject, kOther, kEnd, kNoImage, kNoClass };

  CORTADO_HD int64_t first(int64_t image) const { return names_image ? 0 : image * rows; }
  CORTADO_HD float image_of(int64_t row) const { return values[8 * row]; }
  CORTADO_HD float label_of(int64_t row) const { return names_image ? values[8 * row + 1] - 1 : values[5 * row]; }
  CORTADO_HD CentreBox box_of(int64_t row) const {
    const float* v = names_image ? values + 8 * row + 3 : values + 5 * row + 1;
    if (!names_image) return {v[0], v[1], v[2], v[3]};
    return {(v[0] + v[2]) / 2, (v[1] + v[3]) / 2, v[2] - v[0], v[3] - v[1]};
  }
  CORTADO_HD static bool counts(float value, int64_t below) {
    return value >= 0 && value < float(below) && value == floorf(value);
  }

  /// What a row means for an image.
  CORTADO_HD Kind kind(int64_t row, int64_t image) const {
    if (names_image) {
      const float named = image_of(row);
      if (named == -1) return Kind::kOther;
      if (!counts(named, images)) return Kind::kNoImage;
      if (int64_t(named) != image) return Kind::kOther;
    }
    const CentreBox box = box_of(row);
    if (!names_image && box.w == 0) return Kind::kEnd;
    if (!counts(label_of(row), classes)) return Kind::kNoClass;
    const bool inside = box.x >= 0 && box.x <= 1 && box.y >= 0 && box.y <= 1;
    return inside && box.w > 0 && box.h > 0 && box.w <= FLT_MAX && box.h <= FLT_MAX ? Kind::kObject : Kind::kOther;
  }
};

/// The rows of bottom[1] for this many images, without values. Throws FieldError.
ObjectRows object_rows(const Shape& objects, int64_t images, int64_t classes);

/// A cost and its derivative.
struct Cost {
  float value, slope;
};

/// The cross-entropy of sigmoid(x) and `target`.
CORTADO_HD inline Cost cross_entropy(float x, float target) {
  return {fmaxf(x, 0) - x * target + log1pf(expf(-fabsf(x))), sigmoid_of(x) - target};
}
CORTADO_HD inline Cost half_square(float x, float target) { return {0.5f * (x - target) * (x - target), x - target}; }
CORTADO_HD inline Cost half_square_of_sigmoid(float x, float target) {
  const float s = sigmoid_of(x);
  return {0.5f * (s - target) * (s - target), (s - target) * s * (1 - s)};
}

/// Receives the cost of each number of one box, once.
struct BoxCost {
  float value;
  float* dx;  ///< null: only the value is needed
  float factor;
  bool shows_squares;

  CORTADO_HD void add(int64_t i, const Cost& cost, float weight) { add(i, weight * cost.value, weight * cost.slope); }
  CORTADO_HD void add(int64_t i, float cost, float slope) {
    value += shows_squares ? slope * slope : cost;
    if (dx) dx[i] = factor * slope;
  }
  CORTADO_HD void nothing(int64_t i) {
    if (dx) dx[i] = 0;
  }
};

/// A box and the objects of its image.
struct JudgedBox {
  int64_t at, slot;  ///< of box_grid.h
  CentreBox box;
  const GridObject* own;  ///< the last object that this box predicts; null: none
  float overlap;          ///< with the object that overlaps most
  const GridObject* truths;
  int64_t count;
};

/// The cost of centre and size; `term` computes the cost of x and y.
template <typename Rule, typename Term>
CORTADO_HD void add_box_cost(BoxCost& cost, const Rule& rule, const JudgedBox& judged, const CentreBox& target,
                             float weight, const Term& term) {
  const BoxGrid& grid = rule.grid;
  const int64_t which = rule.anchors.chosen[judged.slot / grid.cells()], step = grid.cells(), at = judged.at;
  const float x = target.x * float(grid.width) - float(grid.column(judged.slot));
  const float y = target.y * float(grid.height) - float(grid.row(judged.slot));
  cost.add(at, term(rule.x[at], x), weight);
  cost.add(at + step, term(rule.x[at + step], y), weight);
  const float w = logf(target.w / grid.anchor_width(rule.anchors, which));
  const float h = logf(target.h / grid.anchor_height(rule.anchors, which));
  cost.add(at + 2 * step, half_square(rule.x[at + 2 * step], w), weight);
  cost.add(at + 3 * step, half_square(rule.x[at + 3 * step], h), weight);
}

/// The weight of small objects is larger: 2 minus the area relative to the image, at least 0.
CORTADO_HD inline float weight_by_size(const CentreBox& box) { return fmaxf(2 - box.w * box.h, 0); }

/// The slot of the box in the cell that contains the object's centre.
CORTADO_HD inline int64_t slot_at(const BoxGrid& grid, const CentreBox& object, int64_t box) {
  int64_t column = int64_t(object.x * float(grid.width)), row = int64_t(object.y * float(grid.height));
  if (column >= grid.width) column = grid.width - 1;
  if (row >= grid.height) row = grid.height - 1;
  return box * grid.cells() + row * grid.width + column;
}

namespace {

/// The objects of an image; the count is -1 if a row is invalid.
template <typename Rule>
struct GatherTruths {
  Rule rule;
  ObjectRows rows;
  GridObject* truths;
  int64_t* counts;
  CORTADO_HD void operator()(int64_t image) const {
    GridObject* to = truths + image * rows.rows;
    int64_t count = 0;
    for (int64_t k = 0; k < rows.rows; ++k) {
      const int64_t row = rows.first(image) + k;
      const ObjectRows::Kind kind = rows.kind(row, image);
      if (kind == ObjectRows::Kind::kEnd) break;
      if (kind == ObjectRows::Kind::kNoImage || kind == ObjectRows::Kind::kNoClass) {
        counts[image] = -1;
        return;
      }
      if (kind == ObjectRows::Kind::kOther) continue;
      const CentreBox box = rows.box_of(row);
      to[count++] = {box, int64_t(rows.label_of(row)), rule.slot_of(image, box)};
    }
    counts[image] = count;
  }
};

template <typename Rule>
struct CostOfBox {
  Rule rule;
  const GridObject* truths;
  const int64_t* counts;
  int64_t most;  ///< objects per image
  float* costs;  ///< one for each box; null: not needed
  float* dx;     ///< null: not needed
  const float* dy;
  float scale;
  CORTADO_HD void operator()(int64_t i) const {
    const BoxGrid& grid = rule.grid;
    const int64_t image = i / grid.slots(), slot = i % grid.slots(), at = grid.at(image, slot);
    JudgedBox judged{at,           slot, grid.box(rule.x, at, slot, rule.anchors), nullptr, 0, truths + image * most,
                     counts[image]};
    for (int64_t t = 0; t < judged.count; ++t) {
      const GridObject& truth = judged.truths[t];
      const float overlap = box_overlap(corners_of(judged.box), corners_of(truth.box));
      if (overlap > judged.overlap) judged.overlap = overlap;
      if (truth.slot == slot) judged.own = &truth;
    }
    BoxCost cost{0, dx, dx ? dy[0] * scale : 0, Rule::kShowsSquares};
    if (judged.count < 0) {
      cost.value = NAN;
      for (int64_t c = 0; c < grid.numbers(); ++c) cost.nothing(at + c * grid.cells());
    } else {
      rule.add_cost(cost, judged);
    }
    if (costs) costs[i] = cost.value;
  }
};

struct ScaledCost {
  const float* costs;
  float scale;
  CORTADO_HD float operator()(int64_t, int64_t i) const { return scale * costs[i]; }
};

}  // namespace

class GridLoss : public Layer, public Scoring {
 public:
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void validate(Context& context, const Operands& io) override;
  bool differentiable(int i) const override { return i == 0; }
  Ratio quotient(size_t) const override { return {.fixed = double(grid_.images)}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 6 * x[0].count(); }
  LayerRoles roles() override { return {.scoring = this}; }

 protected:
  struct Boxes {
    std::vector<float> anchors;
    std::vector<int32_t> chosen;  ///< the anchor of each box of a cell
  };

  explicit GridLoss(Boxes boxes) : anchors_(std::move(boxes.anchors)), chosen_(std::move(boxes.chosen)) {}

  /// Returns the shapes of y. Throws FieldError.
  LayerShapes settle(const std::vector<Shape>& x, int64_t classes);

  const BoxGrid& grid() const { return grid_; }
  Anchors anchors(float unit) const;
  float scale() const { return grid_.images > 0 ? 1 / float(grid_.images) : 0; }

  template <typename Rule>
  void forward_boxes(Context& context, const Operands& io, const Rule& rule) const {
    const int64_t boxes = grid_.images * grid_.slots();
    float* costs = reinterpret_cast<float*>(static_cast<std::byte*>(io.scratch) + bytes_of_truths());
    judge(context, io, rule, costs, nullptr, nullptr);
    reduce_rows(context, 1, boxes, ScaledCost{costs, scale()}, io.y[0].f32());
  }

  template <typename Rule>
  void backward_boxes(Context& context, const Operands& io, const Rule& rule) const {
    if (io.dx[0]) judge(context, io, rule, nullptr, io.dx[0].f32(), io.dy[0].f32());
  }

 private:
  template <typename Rule>
  void judge(Context& context, const Operands& io, const Rule& rule, float* costs, float* dx, const float* dy) const {
    auto* counts = static_cast<int64_t*>(io.scratch);
    auto* truths = reinterpret_cast<GridObject*>(counts + grid_.images);
    ObjectRows rows = rows_;
    rows.values = io.x[1].f32();
    for_each(context, grid_.images, GatherTruths<Rule>{rule, rows, truths, counts});
    for_each(context, grid_.images * grid_.slots(),
             CostOfBox<Rule>{rule, truths, counts, rows_.rows, costs, dx, dy, scale()});
  }

  int64_t bytes_of_truths() const {
    return grid_.images * (int64_t(sizeof(int64_t)) + rows_.rows * int64_t(sizeof(GridObject)));
  }

  std::vector<float> anchors_;
  std::vector<int32_t> chosen_;
  BoxGrid grid_{};
  ObjectRows rows_{};
  DeviceMemory placed_anchors_, placed_chosen_;
};

}  // namespace cortado
