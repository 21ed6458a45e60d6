// The other file of an added fusion: the layer that reads the value.

#include "layers/registry.h"

namespace cortado::testing {

extern const FusionKind kChannelTotals;

namespace {

/// y[c] = the sum of channel c over all images; with the fusion the producer's sum plus 1000, to make it visible.
class TestTotal final : public Layer {
 public:
  explicit TestTotal(const LayerOptions&) {}
  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {{x[0][1]}}, .w = {}}; }
  std::vector<Fusion> fusions(const FusionQuery&) const override { return {Fusion::reader(kChannelTotals)}; }
  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    if (const Fusion* agreed = find_fusion(request.fusions, kChannelTotals, Fusion::kReader)) totals_ = agreed->added;
    return {};
  }
  void forward(Context&, const Operands& io) override {
    const int64_t channels = io.x[0].shape()[1], inner = io.x[0].shape().count(2);
    for (int64_t c = 0; c < channels; ++c) io.y[0].f32()[c] = totals_ ? 1000 + io.x[totals_].f32()[c] : 0;
    for (int64_t i = 0; !totals_ && i < io.x[0].count(); ++i) io.y[0].f32()[i / inner % channels] += io.x[0].f32()[i];
  }

 private:
  size_t totals_ = 0;
};

const RegisterLayer register_total({.name = "TestTotal",
                                    .help = "for a test",
                                    .options = "",
                                    .min_bottoms = 1,
                                    .max_bottoms = 1,
                                    .min_tops = 1,
                                    .max_tops = 1,
                                    .make = make_layer<TestTotal>});

}  // namespace

}  // namespace cortado::testing
