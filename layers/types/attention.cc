// Attention: scaled dot-product attention with several heads (Vaswani et al., 2017; kernels/attention.h has the
// formula). The bottoms are queries (samples x positions x values), keys and values, or one bottom whose last axis
// holds all three, one after the other. Each head has an equal share of their last axes. One more bottom is a mask that
// is added to the scaled products: positions x keys, or samples x heads x positions x keys, of which all but the last
// may be 1. It has no gradient. The inner products before and after are layers of their own.

#include "kernels/attention.h"

#include <cmath>

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

class AttentionLayer : public Layer {
 public:
  explicit AttentionLayer(const LayerOptions& options)
      : options_(options.config.attention_param()),
        packed_(options.config.bottom_size() < 3),
        masked_(options.config.bottom_size() % 2 == 0),
        mask_(packed_ ? 1 : 3) {
    if (options_.heads() == 0) throw FieldError("attention_param.heads", "there are 0 heads", "set at least 1");
    if (options_.has_scale() && !std::isfinite(options_.scale()))
      throw FieldError("attention_param.scale", "the factor is " + to_text(options_.scale()), "set a number");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override { kernel_->forward(context, operands(io)); }
  void backward(Context& context, const Operands& io) override;
  bool differentiable(int i) const override { return !masked_ || i != mask_; }
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    return 2 * r_.samples * r_.heads * r_.queries * r_.keys * (r_.width + r_.value_width);
  }

 private:
  void infer_packed(const Shape& x);
  void infer_parts(const std::vector<Shape>& x);
  void infer_mask(const Shape& mask);
  int64_t of_head(const Shape& x, int bottom, int64_t parts) const;
  kernels::AttentionOperands operands(const Operands& io) const;

  const caffe::AttentionParameter& options_;
  bool packed_, masked_;
  int mask_;  ///< its bottom
  kernels::AttentionRequest r_;
  std::unique_ptr<kernels::Attention> kernel_;
};

/// The values of a head, if the last axis has `parts` operands.
int64_t AttentionLayer::of_head(const Shape& x, int bottom, int64_t parts) const {
  const std::string field = entry("bottom", bottom);
  if (x.axes() != 3)
    throw FieldError(field, "its shape is " + x.str() + ", but must be samples x positions x values",
                     "use Reshape, or Flatten with axis: 2");
  const int64_t shares = parts * r_.heads;
  if (x[2] == 0 || x[2] % shares != 0)
    throw FieldError(field,
                     "its last axis has " + count_of(x[2], "value", "values") + ", which cannot be divided into " +
                         (parts > 1 ? "queries, keys and values of " : "") + count_of(r_.heads, "head", "heads"),
                     "make it a multiple of " + std::to_string(shares));
  return x[2] / shares;
}

void AttentionLayer::infer_packed(const Shape& x) {
  r_.width = r_.value_width = of_head(x, 0, 3);
  r_.queries = r_.keys = x[1];
  r_.step_q = r_.step_k = r_.step_v = x[2];
}

void AttentionLayer::infer_parts(const std::vector<Shape>& x) {
  r_.width = of_head(x[0], 0, 1), r_.value_width = of_head(x[2], 2, 1);
  of_head(x[1], 1, 1);
  r_.queries = x[0][1], r_.keys = x[1][1];
  r_.step_q = r_.step_k = x[0][2], r_.step_v = x[2][2];
  if (x[1][0] != x[0][0] || x[1][2] != x[0][2])
    throw FieldError("bottom[1]", "the keys are " + x[1].str() + ", but the queries " + x[0].str() +
                                      "; only the numbers of positions may differ");
  if (x[2][0] != x[1][0] || x[2][1] != x[1][1])
    throw FieldError("bottom[2]", "the values are " + x[2].str() + ", but the keys " + x[1].str() +
                                      "; only their last axes may differ");
}

void AttentionLayer::infer_mask(const Shape& mask) {
  const std::vector<int64_t> full = {r_.samples, r_.heads, r_.queries, r_.keys};
  const int missing = 4 - mask.axes();
  bool fits = missing == 0 || missing == 2;
  for (int axis = missing; fits && axis < 4; ++axis) {
    const int64_t extent = mask[axis - missing];
    fits = extent == full[size_t(axis)] || (extent == 1 && axis < 3);
  }
  if (!fits)
    throw FieldError(
        entry("bottom", mask_),
        "the mask is " + mask.str() + ", but there are " + Shape(full).str() + " samples, heads, positions and keys",
        "make it " + Shape{full[2], full[3]}.str() + " or four axes, of which all but the last may be 1");
  int64_t* steps[] = {&r_.mask_sample, &r_.mask_head, &r_.mask_query};
  for (int axis = missing; axis < 3; ++axis)
    *steps[axis] = mask[axis - missing] == 1 ? 0 : mask.count(axis - missing + 1);
}

LayerShapes AttentionLayer::infer(const std::vector<Shape>& x) {
  r_ = {.heads = int64_t(options_.heads())};
  packed_ ? infer_packed(x[0]) : infer_parts(x);
  r_.samples = x[0][0];
  r_.causal = options_.causal();
  r_.scale = options_.has_scale() ? options_.scale() : float(1 / std::sqrt(double(r_.width)));
  if (r_.causal && r_.queries != r_.keys)
    throw FieldError("attention_param.causal",
                     "there are " + count_of(r_.queries, "query", "queries") + ", but " +
                         count_of(r_.keys, "key", "keys") + "; causal attention has as many of both",
                     "remove causal: true, or pass a mask");
  if (masked_) infer_mask(x[size_t(mask_)]);
  return {.y = {{r_.samples, r_.queries, r_.heads * r_.value_width}}, .w = {}};
}

LayerNeeds AttentionLayer::prepare(const PrepareRequest& request, Context& context) {
  r_.backward = request.backward;
  kernel_ = kernels::plan_attention(r_, context);
  LayerNeeds needs;
  needs.backward_reads_x.assign(request.x.size(), true);
  needs.backward_reads_y = {true};
  needs.backward_scratch = kernel_->backward_scratch();
  needs.algorithm = kernel_->name();
  if (request.backward) needs.saved = {r_.samples * r_.heads * r_.queries * kFloatBytes};
  return needs;
}

kernels::AttentionOperands AttentionLayer::operands(const Operands& io) const {
  const int64_t inner = r_.heads * r_.width;
  kernels::AttentionOperands operands;
  operands.q = io.x[0].f32();
  operands.k = packed_ ? operands.q + inner : io.x[1].f32();
  operands.v = packed_ ? operands.k + inner : io.x[2].f32();
  if (masked_) operands.mask = io.x[size_t(mask_)].f32();
  operands.y = io.y[0].f32();
  if (!io.saved.empty()) operands.sums = static_cast<float*>(io.saved[0]);
  return operands;
}

void AttentionLayer::backward(Context& context, const Operands& io) {
  if (packed_ && !io.dx[0]) return;
  kernels::AttentionOperands operands = this->operands(io);
  const int64_t inner = r_.heads * r_.width;
  operands.dy = io.dy[0].f32();
  operands.dq = io.dx[0].f32();
  operands.dk = packed_ ? operands.dq + inner : io.dx[1].f32();
  operands.dv = packed_ ? operands.dk + inner : io.dx[2].f32();
  if (operands.dq || operands.dk || operands.dv) kernel_->backward(context, operands, io.scratch);
}

const RegisterLayer register_attention({
    .name = "Attention",
    .help = "scaled dot-product attention of queries, keys and values, with several heads",
    .options = "attention_param",
    .min_bottoms = 1,
    .max_bottoms = 4,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<AttentionLayer>,
    .family = LayerFamily::kDense,
});

}  // namespace

}  // namespace cortado
