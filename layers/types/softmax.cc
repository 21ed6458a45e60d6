// Softmax: e^x divided by the sum of e^x along an axis.

#include "kernels/softmax.h"

#include "layers/common/shape_rules.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

class SoftmaxLayer : public Layer {
 public:
  explicit SoftmaxLayer(const LayerOptions& options) : options_(options.config.softmax_param()) {
    refuse_fields(options_, "softmax_param", {"pos_cid", "pos_mult"}, "use WeightedSoftmaxWithLoss");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    axis_ = axis_of(x[0], options_.axis(), "softmax_param.axis");
    return {.y = {x[0]}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    const Shape& x = request.x[0].shape;
    softmax_ = kernels::plan_softmax(
        {x.count(0, axis_), x[axis_], x.count(axis_ + 1), request.backward, request.x[0].dtype}, context);
    LayerNeeds needs;
    needs.backward_reads_y = {true};
    needs.aliasing.y_may_overwrite_x = true;
    needs.aliasing.dx_may_overwrite_dy = true;
    needs.forward_scratch = softmax_->forward_scratch();
    needs.backward_scratch = softmax_->backward_scratch();
    needs.algorithm = softmax_->name();
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    softmax_->forward(context, io.x[0].data, io.y[0].data, io.scratch);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) softmax_->backward(context, io.y[0].data, io.dy[0].data, io.dx[0].data, io.scratch);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 5 * x[0].count(); }

 private:
  const caffe::SoftmaxParameter& options_;
  int axis_ = 0;
  std::unique_ptr<kernels::Softmax> softmax_;
};

const RegisterLayer register_softmax(
    {
        .name = type_names::kSoftmax,
        .help = "probabilities from scores, along an axis",
        .options = "softmax_param",
        .min_bottoms = 1,
        .max_bottoms = 1,
        .min_tops = 1,
        .max_tops = 1,
        .make = make_layer<SoftmaxLayer>,
        .family = LayerFamily::kScore,
    },
    "VoxelSoftmax", "Softmax at each position of volumes, the name in C3D");

}  // namespace

}  // namespace cortado
