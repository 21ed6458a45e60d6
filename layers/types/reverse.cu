// Reverse: y is x with the axis reverse_param.axis reversed, as in CTPN's fork: the last step of a sequence first.
// Backward reverses dy.

#include "core/error.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// Element i lies in row `row`; `extent` rows are reversed together.
template <typename T>
struct Turn {
  const T* from;
  T* to;
  int64_t extent, width;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    to[i] = from[i + (extent - 1 - 2 * (row % extent)) * width];
  }
};

class ReverseLayer : public Layer {
 public:
  explicit ReverseLayer(const LayerOptions& options) : param_(options.config.reverse_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int axis = axis_of(x[0], param_.axis(), "reverse_param.axis");
    rows_ = x[0].count(0, axis + 1), extent_ = x[0][axis], width_ = x[0].count(axis + 1);
    return {.y = {x[0]}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.can_recompute_y = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override { turn(context, io.x[0], io.y[0]); }
  void backward(Context& context, const Operands& io) override { turn(context, io.dy[0], io.dx[0]); }

 private:
  void turn(Context& context, const Tensor& from, const Tensor& to) const {
    if (from.count() > 0)
      for_each_channel_typed<Turn>(context, {1, rows_, width_, Layout::kPlain}, from, to, extent_, width_);
  }

  const caffe::ReverseParameter& param_;
  int64_t rows_ = 0, extent_ = 0, width_ = 0;
};

const RegisterLayer register_reverse({
    .name = "Reverse",
    .help = "reverses the order of one axis",
    .options = "reverse_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ReverseLayer>,
});

}  // namespace

}  // namespace cortado
