// Reorder: copies a value to another layout and type. Not allowed in prototxt: passes insert it where a reader requires
// it, and set both sides. Its own rules for layouts and types are not used.

#include "kernels/reorder.h"

#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

class ReorderLayer : public Layer {
 public:
  explicit ReorderLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    forward_ = kernels::plan_reorder({request.x[0], request.y[0]}, context);
    LayerNeeds needs;
    needs.forward_scratch = forward_->scratch();
    if (request.backward) {
      backward_ = kernels::plan_reorder({request.y[0], request.x[0]}, context);
      needs.backward_scratch = backward_->scratch();
    }
    needs.algorithm = forward_->name();
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    forward_->run(context, io.x[0].data, io.y[0].data, io.scratch);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) backward_->run(context, io.dy[0].data, io.dx[0].data, io.scratch);
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override { return 0; }

 private:
  std::unique_ptr<kernels::Reorder> forward_, backward_;
};

const RegisterLayer register_reorder({
    .name = type_names::kReorder,
    .help = "converts a value to another memory layout or type",
    .options = "",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ReorderLayer>,
    .kind = LayerKind::kInternal,
});

}  // namespace

}  // namespace cortado
