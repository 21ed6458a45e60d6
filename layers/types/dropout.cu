// Dropout: y = x * mask / (1 - p) in training, where the mask is 0 with probability p = dropout_ratio; y = x in
// testing. With scale_train false (Fast R-CNN) y = x * mask in training and y = x (1 - p) in testing. With
// sample_weights_test (SegNet, as in Bayesian SegNet of Kendall 2015) testing is like training.
//
// The mask is a pure function of (seed, layer, forward pass, element), so backward recomputes it and nothing is saved.
// A resumed run draws the same masks as an uninterrupted one. The element index is in storage order, which the plan
// fixes: another layout of the same tensor has another mask. Caffe rejects p = 0; here it disables dropout.

#include "core/error.h"
#include "core/rng.h"
#include "core/text/text.h"
#include "layers/common/loops/copies.h"
#include "layers/common/loops/typed.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// Four elements at a time, because one draw returns four words.
template <typename T>
struct DropoutMask {
  const T* from;
  T* to;
  int64_t n;
  uint64_t key;
  const uint64_t* pass;
  uint32_t threshold;  ///< words below it drop the element
  float scale;
  CORTADO_HD void operator()(int64_t group) const {
    const Philox::Words words = Philox(key)(*pass, uint64_t(group));
    const int64_t first = group * 4, lanes = n - first < 4 ? n - first : 4;
    for (int64_t lane = 0; lane < lanes; ++lane)
      to[first + lane] = words.v[lane] < threshold ? 0.0f : from[first + lane] * scale;
  }
};

template <typename T>
struct Scale {
  const T* from;
  T* to;
  float scale;
  using Arrays = ByPacks<In<&Scale::from>, Out<&Scale::to>>;
  CORTADO_HD void operator()(int64_t i) const { to[i] = from[i] * scale; }
};

class DropoutLayer : public Layer {
 public:
  explicit DropoutLayer(const LayerOptions& options)
      : ratio_(options.config.dropout_param().dropout_ratio()),
        own_seed_(options.config.dropout_param().random_seed()),
        training_(options.phase == caffe::TRAIN || options.config.dropout_param().sample_weights_test()),
        scale_train_(options.config.dropout_param().scale_train()) {
    if (!(ratio_ >= 0 && ratio_ < 1))
      throw FieldError("dropout_param.dropout_ratio", "the ratio is " + to_text(ratio_) + ", but must be in [0, 1)",
                       "set the fraction of values that become 0");
  }

  LayerShapes infer(const std::vector<Shape>& x) override { return {.y = {x[0]}, .w = {}}; }

  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow,
            .type = TypeRule::kFollow,
            .eight_bits = changes() ? EightBitRule::kNone : EightBitRule::kFollow};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    layer_seed_ = request.layer_seed;
    LayerNeeds needs;
    needs.aliasing.view = needs.aliasing.dx_is_dy = !changes() && !request.observed;
    needs.aliasing.y_may_overwrite_x = true;
    needs.aliasing.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override { apply(context, io.x[0], io.y[0]); }
  void backward(Context& context, const Operands& io) override { apply(context, io.dy[0], io.dx[0]); }

 private:
  /// Whether y differs from x.
  bool changes() const { return ratio_ > 0 && (training_ || !scale_train_); }

  void apply(Context& context, const Tensor& from, const Tensor& to) const {
    if (!changes()) return copy_values(context, from, to);  // not a view, in an observed net
    if (!training_) return for_each_typed<Scale>(context, from, to, 1 - ratio_);
    const int64_t n = from.spec.elements();
    const uint64_t key = mix_key(own_seed_ >= 0 ? uint64_t(own_seed_) : context.seed, layer_seed_);
    const uint32_t threshold = uint32_t(double(ratio_) * 4294967296.0);
    with_functor<DropoutMask>([&](const auto& mask) { for_each(context, (n + 3) / 4, mask); }, from, to, n, key,
                              context.pass_word(), threshold, scale_train_ ? 1 / (1 - ratio_) : 1.0f);
  }

  float ratio_;
  int64_t own_seed_;  ///< NVIDIA's random_seed, or negative
  bool training_, scale_train_;
  uint64_t layer_seed_ = 0;
};

const RegisterLayer register_dropout({
    .name = "Dropout",
    .help = "sets a random fraction of the values to 0 in training",
    .options = "dropout_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<DropoutLayer>,
    .family = LayerFamily::kActivation,
    .stacks = true,
});

}  // namespace

}  // namespace cortado
