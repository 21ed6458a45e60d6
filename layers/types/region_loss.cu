// RegionLoss: YOLO v2's loss, as in its ports to Caffe. For predictions and objects see
// layers/common/detection/box_grid.h and grid_loss.h; the anchors (biases) are in cells, one for each box of a cell.
//
// An object belongs to the cell that contains its centre. Its box in that cell is the one with the anchor (bias_match;
// else the predicted shape) closest to its own shape. If several objects have the same box, the last one counts. The
// costs of boxes, where s is the sigmoid and p the softmax of the classes:
//   a box with an object   coord ((s(x) - tx)^2 + (s(y) - ty)^2 + (w - tw)^2 + (h - th)^2) / 2
//                          + object_scale (s(score) - t)^2 / 2 - class_scale log p(the object's class)
//   any other              noobject_scale s(score)^2 / 2, or 0 if it overlaps an object by more than thresh
// With rescore t is the overlap of box and object, as a constant, and coord is coord_scale. Without it t is 1 and coord
// is coord_scale (2 - w h). In training, for the first 12800 images (12800 / N passes), boxes without an object also
// have the cost of the first line for the middle of their cell and the size of their anchor, with coord 0.01.
//
// The gradients are those of the ports, which report the sum of their squares as the loss. The grid's size is
// bottom[0]'s. side, jitter, absolute and random have no effect, as in the ports: they are for darknet's data and
// labels.

#include "core/error.h"
#include "layers/common/detection/grid_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr int64_t kImagesDrawnToAnchors = 12800;

struct RegionRule {
  static constexpr bool kShowsSquares = false;
  BoxGrid grid;
  Anchors anchors;
  const float* x;
  float object, noobject, classes, coord, thresh;
  bool rescore, by_anchors;
  const uint64_t* pass;
  uint64_t drawn_passes;  ///< the number of first passes that draw boxes to their anchors

  struct Term {
    CORTADO_HD Cost operator()(float x, float wanted) const { return half_square_of_sigmoid(x, wanted); }
  };

  CORTADO_HD int64_t slot_of(int64_t image, const CentreBox& object_box) const {
    int64_t best = 0;
    float most = 0;
    for (int64_t box = 0; box < grid.boxes; ++box) {
      const int64_t slot = slot_at(grid, object_box, box), which = anchors.chosen[box];
      CentreBox shape = {0, 0, grid.anchor_width(anchors, which), grid.anchor_height(anchors, which)};
      if (!by_anchors) shape = grid.box(x, grid.at(image, slot), slot, anchors);
      const float overlap = shape_overlap(shape.w, shape.h, object_box.w, object_box.h);
      if (overlap > most) best = box, most = overlap;
    }
    return slot_at(grid, object_box, best);
  }

  CORTADO_HD void add_cost(BoxCost& cost, const JudgedBox& box) const {
    if (box.own) return add_cost_of_object(cost, box);
    const int64_t step = grid.cells(), score = box.at + 4 * step;
    for (int64_t c = 0; c < grid.classes; ++c) cost.nothing(score + (1 + c) * step);
    if (box.overlap > thresh)
      cost.nothing(score);
    else
      cost.add(score, Term()(x[score], 0), noobject);
    if (*pass < drawn_passes) return draw_to_anchor(cost, box);
    for (int64_t c = 0; c < 4; ++c) cost.nothing(box.at + c * step);
  }

  CORTADO_HD void add_cost_of_object(BoxCost& cost, const JudgedBox& box) const {
    const CentreBox& wanted = box.own->box;
    const int64_t step = grid.cells(), score = box.at + 4 * step;
    add_box_cost(cost, *this, box, wanted, rescore ? coord : coord * weight_by_size(wanted), Term());
    cost.add(score, Term()(x[score], rescore ? box_overlap(corners_of(box.box), corners_of(wanted)) : 1), object);
    float largest = -INFINITY, sum = 0;
    for (int64_t c = 1; c <= grid.classes; ++c) largest = fmaxf(largest, x[score + c * step]);
    for (int64_t c = 1; c <= grid.classes; ++c) sum += expf(x[score + c * step] - largest);
    for (int64_t c = 0; c < grid.classes; ++c) {
      const int64_t i = score + (1 + c) * step;
      const float p = expf(x[i] - largest) / sum;
      const bool own = c == box.own->label;
      cost.add(i, {own ? logf(sum) + largest - x[i] : 0, own ? p - 1 : p}, classes);
    }
  }

  CORTADO_HD void draw_to_anchor(BoxCost& cost, const JudgedBox& box) const {
    const int64_t which = anchors.chosen[box.slot / grid.cells()];
    const CentreBox middle = {(float(grid.column(box.slot)) + 0.5f) / float(grid.width),
                              (float(grid.row(box.slot)) + 0.5f) / float(grid.height),
                              grid.anchor_width(anchors, which), grid.anchor_height(anchors, which)};
    add_box_cost(cost, *this, box, middle, 0.01f, Term());
  }
};

class RegionLossLayer : public GridLoss {
 public:
  explicit RegionLossLayer(const LayerOptions& options)
      : GridLoss(boxes_of(options.config.region_loss_param())),
        options_(options.config.region_loss_param()),
        training_(options.phase == caffe::TRAIN) {
    if (options_.coords() != 4)
      throw FieldError("region_loss_param.coords", "it is " + std::to_string(options_.coords()) + ", but must be 4",
                       "set 4: a box has x, y, w and h");
    if (options_.softmax() == 0)
      throw FieldError("region_loss_param.softmax", "only softmax is available for classes",
                       "set softmax: 1, the default");
    if (!options_.softmax_tree().empty())
      throw FieldError("region_loss_param.softmax_tree", "a tree of classes is not available", "remove it");
    if (!options_.class_map().empty())
      throw FieldError("region_loss_param.class_map", "a map of classes is not available", "remove it");
  }

  LayerShapes infer(const std::vector<Shape>& x) override { return settle(x, options_.num_class()); }
  void forward(Context& context, const Operands& io) override { forward_boxes(context, io, rule(context, io)); }
  void backward(Context& context, const Operands& io) override { backward_boxes(context, io, rule(context, io)); }

 private:
  RegionRule rule(const Context& context, const Operands& io) const {
    const int64_t passes = training_ && grid().images > 0 ? kImagesDrawnToAnchors / grid().images : 0;
    return {grid(),
            anchors(1),
            io.x[0].f32(),
            options_.object_scale(),
            options_.noobject_scale(),
            options_.class_scale(),
            options_.coord_scale(),
            options_.thresh(),
            options_.rescore() != 0,
            options_.bias_match() != 0,
            context.pass_word(),
            uint64_t(passes)};
  }

  static Boxes boxes_of(const caffe::RegionLossParameter& options) {
    std::vector<float> anchors = anchors_of(options.biases(), "region_loss_param.biases");
    return {anchors, chosen_anchors({}, "region_loss_param.biases", int64_t(anchors.size() / 2), options.num())};
  }

  const caffe::RegionLossParameter& options_;
  bool training_;
};

const RegisterLayer register_region_loss({
    .name = "RegionLoss",
    .help = "YOLO v2's loss of a grid of boxes; bottom[1] is the objects",
    .options = "region_loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<RegionLossLayer>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
