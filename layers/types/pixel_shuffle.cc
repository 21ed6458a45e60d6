// PixelShuffle: rearranges channels into positions. With r = upscale_factor, N x (C r r) x H x W becomes N x C x (H r)
// x (W r):
// y[n][c][h r + i][w r + j] = x[n][(c r + i) r + j][h][w].

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/permutation.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class PixelShuffleLayer : public PermutingLayer {
 public:
  explicit PixelShuffleLayer(const LayerOptions& options)
      : factor_(options.config.pixel_shuffle_param().upscale_factor()) {
    if (factor_ == 0) throw FieldError(kField, "upscale_factor is 0", "it must be at least 1");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const Shape& s = x[0];
    if (s.axes() != 4) throw FieldError("bottom[0]", "its shape is " + s.str() + "; PixelShuffle needs N x C x H x W");
    const bool divides = factor_ <= INT32_MAX && s[1] % (factor_ * factor_) == 0;  // a larger square would overflow
    if (!divides)
      throw FieldError(kField, "upscale_factor is " + std::to_string(factor_) +
                                   ", but its square does not divide the " + count_of(s[1], "channel", "channels") +
                                   " of bottom[0]");
    const int64_t channels = s[1] / (factor_ * factor_);
    const Shape parts = {s[0], channels, factor_, factor_, s[2], s[3]};
    permute(Permutation(parts, {0, 1, 4, 2, 5, 3}));
    const Shape y = {s[0], channels, checked_mul(s[2], factor_), checked_mul(s[3], factor_)};
    return {.y = {y}, .w = {}};
  }

 private:
  static constexpr const char* kField = "pixel_shuffle_param.upscale_factor";

  int64_t factor_;
};

const RegisterLayer register_pixel_shuffle({
    .name = "PixelShuffle",
    .help = "rearranges channels into larger images",
    .options = "pixel_shuffle_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<PixelShuffleLayer>,
});

}  // namespace

}  // namespace cortado
