// One of the two files of an added fusion: its kind, and the layer that makes the value.

#include "layers/registry.h"

namespace cortado::testing {

extern const FusionKind kChannelTotals;
/// The producer sums each channel of its result.
const FusionKind kChannelTotals{
    .name = "test_totals", .help = "for a test", .one_reader = true, .operand = two_per_channel};

namespace {

const RegisterFusion register_totals(kChannelTotals);

/// y = x^2, in plain layout; with the fusion also the sums of each channel over all images.
class TestSquare final : public Layer {
 public:
  explicit TestSquare(const LayerOptions&) {}
  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }
  std::vector<Fusion> fusions(const FusionQuery&) const override { return {Fusion::maker(kChannelTotals)}; }
  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    if (const Fusion* agreed = find_fusion(request.fusions, kChannelTotals, Fusion::kMaker)) totals_ = agreed->added;
    return {};
  }
  void forward(Context&, const Operands& io) override {
    const int64_t channels = io.x[0].shape()[1], inner = io.x[0].shape().count(2);
    float* totals = totals_ ? io.y[totals_].f32() : nullptr;
    if (totals) std::fill_n(totals, 2 * channels, 0.0f);
    for (int64_t i = 0; i < io.x[0].count(); ++i) {
      const float square = io.x[0].f32()[i] * io.x[0].f32()[i];
      io.y[0].f32()[i] = square;
      if (totals) totals[i / inner % channels] += square;
    }
  }

 private:
  size_t totals_ = 0;
};

const RegisterLayer register_square({.name = "TestSquare",
                                     .help = "for a test",
                                     .options = "",
                                     .min_bottoms = 1,
                                     .max_bottoms = 1,
                                     .min_tops = 1,
                                     .max_tops = 1,
                                     .make = make_layer<TestSquare>});

}  // namespace

}  // namespace cortado::testing
