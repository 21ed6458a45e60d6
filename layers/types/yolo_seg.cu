// YoloSeg (MobileNet-YOLO): a segmentation loss in addition to detection. x is N x C x H x W, one score map for each
// class; bottom[1] is the targets of their sigmoids. y = object_scale sum of w CE(sigmoid(x), t) / N, where CE is
// binary cross-entropy; dx = object_scale w (sigmoid(x) - t) dy / N.
//
// w is 1 without a third bottom. The third bottom, N x C, is the number of positions of each class in each image. Then
// w is max(2 - a / b, 0) where t is above 0.5 (0 if b is 0), with a and b the numbers of positions of the class and of
// the others in the batch; so small classes have a larger weight. MobileNet-YOLO reports the sum of the squared
// gradients as the loss, and its w may be negative.

#include <cmath>

#include "core/error.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/layer.h"
#include "layers/registry.h"
#include "layers/roles.h"

namespace cortado {

namespace {

/// The weights of the positions of each class.
struct WeighClasses {
  const float* areas;
  float* weights;
  int64_t images, classes, places;
  CORTADO_HD void operator()(int64_t c) const {
    double area = 0;
    for (int64_t n = 0; n < images; ++n) area += double(areas[n * classes + c]);
    const double others = double(images * places) - area;
    weights[c] = others > 0 ? fmaxf(float(2 - area / others), 0) : 0;
  }
};

struct Weights {
  const float* targets;
  const float* of_classes;  ///< null: 1
  int64_t classes, places;
  float scale;
  CORTADO_HD float of(int64_t i) const {
    return of_classes && targets[i] > 0.5f ? scale * of_classes[i / places % classes] : scale;
  }
};

struct PlaneLoss {
  const float* x;
  Weights weights;
  CORTADO_HD float operator()(int64_t plane, int64_t k) const {
    const int64_t i = plane * weights.places + k;
    const float v = x[i];
    return weights.of(i) * (fmaxf(v, 0) - weights.targets[i] * v + log1pf(expf(-fabsf(v))));
  }
};

struct YoloSegSum {
  const float* values;
  CORTADO_HD float operator()(int64_t, int64_t i) const { return values[i]; }
};

struct YoloSegBackward {
  const float* x;
  float* dx;
  const float* dy;
  Weights weights;
  CORTADO_HD void operator()(int64_t i) const {
    dx[i] = dy[0] * weights.of(i) * (1 / (1 + expf(-x[i])) - weights.targets[i]);
  }
};

class YoloSegLayer : public Layer, public Scoring {
 public:
  explicit YoloSegLayer(const LayerOptions& options) : scale_(options.config.yolo_seg_param().object_scale()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    require_same_shapes({x[0], x[1]});
    shape_ = x[0];
    if (x.size() > 2 && x[2].count() != shape_[0] * shape_[1])
      throw FieldError("bottom[2]", "its shape is " + x[2].str(),
                       "it must have the number of positions of each of the " + std::to_string(shape_[1]) +
                           " classes in each of " + "the " + std::to_string(shape_[0]) + " images");
    return {.y = {Shape()}, .w = {}};
  }

  LayerRoles roles() override { return {.scoring = this}; }
  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x.assign(request.x.size(), true);
    needs.backward_scratch = shape_[1] * int64_t(sizeof(float));
    needs.forward_scratch = needs.backward_scratch + shape_[0] * shape_[1] * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const int64_t planes = shape_[0] * shape_[1];
    float* sums = static_cast<float*>(io.scratch) + shape_[1];
    reduce_rows(context, planes, places(), PlaneLoss{io.x[0].f32(), weights(context, io)}, sums);
    reduce_rows(context, 1, planes, YoloSegSum{sums}, io.y[0].f32());
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    for_each(context, io.x[0].count(),
             YoloSegBackward{io.x[0].f32(), io.dx[0].f32(), io.dy[0].f32(), weights(context, io)});
  }

  bool differentiable(int i) const override { return i == 0; }
  Ratio quotient(size_t) const override { return {.fixed = double(shape_[0])}; }
  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 4 * x[0].count(); }

 private:
  int64_t places() const { return shape_.count(2); }

  Weights weights(Context& context, const Operands& io) const {
    float* of_classes = io.x.size() > 2 ? static_cast<float*>(io.scratch) : nullptr;
    if (of_classes)
      for_each(context, shape_[1], WeighClasses{io.x[2].f32(), of_classes, shape_[0], shape_[1], places()});
    const float scale = shape_[0] > 0 ? scale_ / float(shape_[0]) : 0;
    return {io.x[1].f32(), of_classes, shape_[1], places(), scale};
  }

  float scale_;
  Shape shape_;
};

const RegisterLayer register_yolo_seg({
    .name = "YoloSeg",
    .help = "cross-entropy of the sigmoids of segments, with larger weights for small classes",
    .options = "yolo_seg_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<YoloSegLayer>,
    .loss = LossRole{.answer = "Sigmoid"},
});

}  // namespace

}  // namespace cortado
