// Yolov3 (MobileNet-YOLO): the loss of one of YOLO v3's grids. For predictions and objects see
// layers/common/detection/box_grid.h and grid_loss.h.
//
// An object belongs to the cell that contains its centre and to the one of all anchors (biases) with the closest shape;
// it is used only if that anchor is one of this grid's (mask). The costs of boxes, where s is the sigmoid:
//   a box with an object   coord_scale (2 - w h) (CE(s(x), tx) + CE(s(y), ty) + (w - tw)^2 / 2 + (h - th)^2 / 2)
//                          + CE(s(score), 1) + class_scale sum over classes of CE(s(class), 1 for the object's, else 0)
//   any other              noobject_scale CE(s(score), 0), or 0 if it overlaps an object by more than thresh
// CE is binary cross-entropy; tx and ty are the centre's position in its cell, tw and th the logarithms of the object's
// sides divided by the anchor's. If several objects have the same box, the last one sets the coordinates, and all set
// their classes. With use_logic_gradient each CE(s, t) is (s - t)^2 / 2 instead, and the score of a box with an object
// has the weight object_scale.
//
// The gradients are those of these costs. The loss is MobileNet-YOLO's: the sum of the squares of the costs'
// derivatives, divided by the number of images. There noobject_scale, and object_scale without use_logic_gradient, have
// no effect. Here object_scale has none either, because nets set 5 but were trained with 1. The grid's size is
// bottom[0]'s; side has no effect.

#include "core/error.h"
#include "layers/common/detection/grid_loss.h"
#include "layers/registry.h"

namespace cortado {

namespace {

struct Yolov3Rule {
  static constexpr bool kShowsSquares = true;
  BoxGrid grid;
  Anchors anchors;
  const float* x;
  float object, noobject, classes, coord, thresh;
  bool squares;

  struct Term {
    bool squares;
    CORTADO_HD Cost operator()(float x, float wanted) const {
      return squares ? half_square_of_sigmoid(x, wanted) : cross_entropy(x, wanted);
    }
  };

  CORTADO_HD int64_t slot_of(int64_t, const CentreBox& object_box) const {
    int64_t best = -1;
    float most = 0;
    for (int64_t a = 0; a < anchors.count; ++a) {
      const float overlap =
          shape_overlap(grid.anchor_width(anchors, a), grid.anchor_height(anchors, a), object_box.w, object_box.h);
      if (overlap > most) best = a, most = overlap;
    }
    for (int64_t box = 0; best >= 0 && box < grid.boxes; ++box)
      if (anchors.chosen[box] == best) return slot_at(grid, object_box, box);
    return -1;
  }

  CORTADO_HD void add_cost(BoxCost& cost, const JudgedBox& box) const {
    const Term term{squares};
    const int64_t step = grid.cells(), score = box.at + 4 * step;
    if (!box.own) {
      for (int64_t c = 0; c < grid.numbers(); ++c)
        if (c != 4) cost.nothing(box.at + c * step);
      if (box.overlap > thresh) return cost.nothing(score);
      return cost.add(score, term(x[score], 0), noobject);
    }
    add_box_cost(cost, *this, box, box.own->box, coord * weight_by_size(box.own->box), term);
    cost.add(score, term(x[score], 1), squares ? object : 1);
    for (int64_t c = 0; c < grid.classes; ++c) {
      const int64_t i = score + (1 + c) * step;
      cost.add(i, term(x[i], has_class(box, c) ? 1 : 0), classes);
    }
  }

  CORTADO_HD static bool has_class(const JudgedBox& box, int64_t c) {
    for (int64_t t = 0; t < box.count; ++t)
      if (box.truths[t].slot == box.slot && box.truths[t].label == c) return true;
    return false;
  }
};

class Yolov3Layer : public GridLoss {
 public:
  explicit Yolov3Layer(const LayerOptions& options)
      : GridLoss(boxes_of(options.config.yolov3_param())), options_(options.config.yolov3_param()) {
    if (options_.anchors_scale() == 0)
      throw FieldError("yolov3_param.anchors_scale", "it is 0, but must be above 0",
                       "set the image's width divided by the grid's");
    if (options_.use_gt_label())
      throw FieldError("yolov3_param.use_gt_label", "use_gt_label is not available", "remove it");
  }

  LayerShapes infer(const std::vector<Shape>& x) override { return settle(x, options_.num_class()); }
  void forward(Context& context, const Operands& io) override { forward_boxes(context, io, rule(io)); }
  void backward(Context& context, const Operands& io) override { backward_boxes(context, io, rule(io)); }

 private:
  Yolov3Rule rule(const Operands& io) const {
    return {grid(),
            anchors(float(options_.anchors_scale())),
            io.x[0].f32(),
            options_.object_scale(),
            options_.noobject_scale(),
            options_.class_scale(),
            options_.coord_scale(),
            options_.thresh(),
            options_.use_logic_gradient()};
  }

  static Boxes boxes_of(const caffe::Yolov3Parameter& options) {
    std::vector<float> anchors = anchors_of(options.biases(), "yolov3_param.biases");
    return {anchors, chosen_anchors(options.mask(), "yolov3_param.mask", int64_t(anchors.size() / 2), options.num())};
  }

  const caffe::Yolov3Parameter& options_;
};

const RegisterLayer register_yolov3({
    .name = "Yolov3",
    .help = "the loss of one of YOLO v3's grids of boxes; bottom[1] is the objects",
    .options = "yolov3_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<Yolov3Layer>,
    .loss = LossRole{},
});

}  // namespace

}  // namespace cortado
