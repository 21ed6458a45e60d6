// SpatialDropout: Dropout of whole channels. In training y = x / (1 - p), but 0 at all positions of a channel of a
// sample with probability p = dropout_ratio; y = x in testing. The ratio is spatial_dropout_param's or, as in Intel's
// Caffe, dropout_param's.
//
// The factors of the channels are a pure function of (seed, layer, forward pass, channel); backward recomputes them.

#include "core/error.h"
#include "core/rng.h"
#include "core/text/text.h"
#include "layers/common/loops/copies.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// The factor of channel `row`, numbered over all samples.
struct Factor {
  float* factors;
  uint64_t key;
  const uint64_t* pass;
  float ratio;
  CORTADO_HD void operator()(int64_t row) const {
    const float drawn = unit_float(Philox(key)(*pass, uint64_t(row)).v[0]);
    factors[row] = drawn < ratio ? 0 : 1 / (1 - ratio);
  }
};

template <typename T>
struct SpatialDropoutTimes {
  const T* from;
  T* to;
  const float* factors;
  CORTADO_HD void operator()(int64_t i, int64_t row) const { to[i] = from[i] * factors[row]; }
};

class SpatialDropoutLayer : public Layer {
 public:
  explicit SpatialDropoutLayer(const LayerOptions& options) : training_(options.phase == caffe::TRAIN) {
    const auto& own = options.config.spatial_dropout_param();
    const auto& plain = options.config.dropout_param();
    const bool by_own = own.has_dropout_ratio();
    if (by_own && plain.has_dropout_ratio() && plain.dropout_ratio() != own.dropout_ratio())
      throw FieldError("dropout_param.dropout_ratio", "it contradicts that of spatial_dropout_param",
                       "set only one of them");
    ratio_ = by_own ? own.dropout_ratio() : plain.dropout_ratio();
    own_seed_ = plain.random_seed();
    if (!(ratio_ >= 0 && ratio_ < 1))
      throw FieldError(by_own ? "spatial_dropout_param.dropout_ratio" : "dropout_param.dropout_ratio",
                       "the ratio is " + to_text(ratio_) + ", but must be in [0, 1)",
                       "set the fraction of channels that become 0");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    require_axes(x[0], 2);
    rows_ = x[0].count(0, 2);
    return {.y = {x[0]}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    layer_seed_ = request.layer_seed;
    LayerNeeds needs;
    needs.aliasing.view = needs.aliasing.dx_is_dy = !drops() && !request.observed;
    needs.aliasing.y_may_overwrite_x = needs.aliasing.dx_may_overwrite_dy = true;
    needs.forward_scratch = needs.backward_scratch = drops() ? rows_ * int64_t(sizeof(float)) : 0;
    return needs;
  }

  void forward(Context& context, const Operands& io) override { drop(context, io.x[0], io.y[0], io.scratch); }
  void backward(Context& context, const Operands& io) override { drop(context, io.dy[0], io.dx[0], io.scratch); }

 private:
  bool drops() const { return training_ && ratio_ > 0; }

  void drop(Context& context, const Tensor& from, const Tensor& to, void* scratch) const {
    if (rows_ == 0) return;
    if (!drops()) return copy_values(context, from, to);  // not a view, in an observed net
    float* factors = static_cast<float*>(scratch);
    const uint64_t key = mix_key(own_seed_ >= 0 ? uint64_t(own_seed_) : context.seed, layer_seed_);
    for_each(context, rows_, Factor{factors, key, context.pass_word(), ratio_});
    const ChannelView view{1, rows_, from.count() / rows_, Layout::kPlain};
    for_each_channel_typed<SpatialDropoutTimes>(context, view, from, to, static_cast<const float*>(factors));
  }

  bool training_;
  float ratio_ = 0;
  int64_t own_seed_ = -1;  ///< dropout_param's random_seed, or negative
  uint64_t layer_seed_ = 0;
  int64_t rows_ = 0;  ///< channels of all samples
};

const RegisterLayer register_spatial_dropout({
    .name = "SpatialDropout",
    .help = "sets a random fraction of the channels to 0 in training",
    .options = "spatial_dropout_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<SpatialDropoutLayer>,
    .family = LayerFamily::kActivation,
    .stacks = true,
});

}  // namespace

}  // namespace cortado
