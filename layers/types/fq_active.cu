// FQActive (caffe-FQ, Park): rounds activations to fixed-point values, y = q(x); dx = dy.
// layers/common/weights/fixed_point.h has the rule.

#include "layers/common/loops/copies.h"
#include "layers/common/weights/fixed_point.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class FqActiveLayer : public Layer {
 public:
  explicit FqActiveLayer(const LayerOptions& options) : training_(options.phase == caffe::TRAIN) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {fixed_point_weight()}}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.aliasing.y_may_overwrite_x = true;
    needs.aliasing.dx_may_overwrite_dy = true;
    needs.forward_scratch = fixed_point_scratch(request.x[0].shape.count());
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    round_to_fixed_point(context, io.x[0].f32(), io.x[0].count(), io.w[0].f32(), training_, io.scratch, io.y[0].f32());
  }
  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) copy_values(context, io.dy[0], io.dx[0]);
  }

 private:
  bool training_;
};

const RegisterLayer register_fq_active({
    .name = "FQActive",
    .help = "rounds activations to fixed-point values (caffe-FQ)",
    .options = "",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<FqActiveLayer>,
    .family = LayerFamily::kActivation,
    .stacks = true,
});

}  // namespace

}  // namespace cortado
