// Silence: reads blobs that no other layer reads, so that they are not outputs of the net. They get no gradient from
// it.

#include "layers/registry.h"

namespace cortado {

namespace {

class SilenceLayer : public Layer {
 public:
  explicit SilenceLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>&) override { return {}; }
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }
  void forward(Context&, const Operands&) override {}
  bool differentiable(int) const override { return false; }
};

const RegisterLayer register_silence({
    .name = "Silence",
    .help = "reads blobs that no other layer reads, so that they are not outputs",
    .options = "",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 0,
    .max_tops = 0,
    .make = make_layer<SilenceLayer>,
});

}  // namespace

}  // namespace cortado
