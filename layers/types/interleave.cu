// Interleave: concatenates tensors of one shape along the channels, in turn: the first channel of each, the second of
// each and so on. It replaces a Concat followed by a ShuffleChannel with as many groups as bottoms, the end of
// ShuffleNet's units, by one pass over memory (graph/passes/fuse_concat_shuffle.cc). Backward copies to each bottom its
// channels of dy.

#include "layers/common/loops/strips.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

class InterleaveLayer : public Layer {
 public:
  explicit InterleaveLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    require_same_shapes(x);
    Shape y = x[0];
    y[1] = checked_mul(y[1], int64_t(x.size()));
    return {.y = {y}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.can_recompute_y = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    join_strips(context, io.x, {io.y[0], 0, pitch(io.y[0], io.x.size())}, channels_of);
  }

  void backward(Context& context, const Operands& io) override {
    cut_strips(context, {io.dy[0], 0, pitch(io.dy[0], io.dx.size())}, io.dx, channels_of);
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

 private:
  static Strips channels_of(const Tensor& part) { return {part.shape().count(0, 2), part.shape().count(2)}; }
  /// Stride in y between consecutive channels of one bottom.
  static int64_t pitch(const Tensor& whole, size_t parts) { return int64_t(parts) * whole.shape().count(2); }
};

const RegisterLayer register_interleave({
    .name = type_names::kInterleave,
    .help = "concatenates tensors of one shape along the channels, in turn",
    .options = "",
    .min_bottoms = 2,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<InterleaveLayer>,
});

}  // namespace

}  // namespace cortado
