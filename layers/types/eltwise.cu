// Eltwise: the sum (with coefficients), the product or the maximum of tensors of one shape, without broadcasting.
//   SUM   y = c0 x0 + c1 x1 + ...             dx_i = c_i dy
//   PROD  y = x0 x1 ...                       dx_i = dy times the product of the others
//   MAX   y = max(x0, x1, ...)                dx_i = dy where x_i won, else 0
// A tie between the first two bottoms goes to the second; a later one must be strictly larger to win. NaN wins over any
// number, unlike in Caffe, where it wins only as the second bottom. The index of the winner is stored in one byte per
// element.
//
// A sum fuses a following ReLU, y = max(0, sum): the end of a residual block in one pass over memory. With
// stable_prod_grad: false Caffe computes dx as dy y / x_i, which is 0 / 0 at 0; here the product is always computed.

#include <algorithm>

#include "core/error.h"
#include "core/loops/exceeds.h"
#include "core/text/text.h"
#include "kernels/post_ops.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

using caffe::EltwiseParameter;

template <typename T>
struct EltwiseSum {
  const T *a, *b;
  T* y;
  float scale_a, scale_b;
  kernels::Activation activation;
  using Arrays = ByPacks<In<&EltwiseSum::a>, In<&EltwiseSum::b>, Out<&EltwiseSum::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = activation(scale_a * a[i] + scale_b * b[i]); }
};

/// The most frequent sum, without the branches of an activation, so that compilers vectorize it.
template <typename T>
struct PlainSumOfTwo {
  const T *a, *b;
  T* y;
  using Arrays = ByPacks<In<&PlainSumOfTwo::a>, In<&PlainSumOfTwo::b>, Out<&PlainSumOfTwo::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = float(a[i]) + float(b[i]); }
};

/// to = scale * from where the ReLU let the sum through (y > 0), else 0. Without a ReLU y is null.
template <typename T>
struct SumBackward {
  const T* from;
  T* to;
  const T* y;
  float scale;
  using Arrays = ByPacks<In<&SumBackward::from>, Out<&SumBackward::to>, In<&SumBackward::y>>;
  bool by_packs() const { return y != nullptr; }
  CORTADO_HD void operator()(int64_t i) const { to[i] = y == nullptr || y[i] > 0 ? scale * from[i] : 0; }
};

template <typename T>
struct EltwiseProduct {
  const T *a, *b;
  T* y;
  using Arrays = ByPacks<In<&EltwiseProduct::a>, In<&EltwiseProduct::b>, Out<&EltwiseProduct::y>>;
  CORTADO_HD void operator()(int64_t i) const { y[i] = a[i] * b[i]; }
};

template <typename T>
struct FirstMax {
  const T *a, *b;
  T* y;
  uint8_t* winner;  ///< null if not needed
  CORTADO_HD void operator()(int64_t i) const {
    const bool first = exceeds(a[i], b[i]);
    if (winner) winner[i] = first ? 0 : 1;
    y[i] = first ? a[i] : b[i];
  }
};

template <typename T>
struct LaterMax {
  const T* x;
  T* y;
  uint8_t* winner;
  uint8_t number;
  CORTADO_HD void operator()(int64_t i) const {
    if (!exceeds(x[i], y[i])) return;
    if (winner) winner[i] = number;
    y[i] = x[i];
  }
};

template <typename T>
struct MaxBackward {
  const T* dy;
  T* dx;
  const uint8_t* winner;
  uint8_t number;
  CORTADO_HD void operator()(int64_t i) const { dx[i] = winner[i] == number ? float(dy[i]) : 0; }
};

class EltwiseLayer : public Layer {
 public:
  explicit EltwiseLayer(const LayerOptions& options)
      : operation_(options.config.eltwise_param().operation()),
        coeff_(options.config.eltwise_param().coeff().begin(), options.config.eltwise_param().coeff().end()) {
    if (operation_ == EltwiseParameter::PROD && !coeff_.empty())
      throw FieldError("eltwise_param.coeff[0]", "a product does not support coefficients",
                       "remove coeff, or set operation: SUM");
  }

  LayerShapes infer(const std::vector<Shape>& x) override;
  std::optional<kernels::PostOp> as_post_op() const override;
  bool accepts(const kernels::PostOps& post, NetMode mode) const override;
  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow, .type = TypeRule::kFollow};
  }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;

 private:
  void sum(Context& context, const Operands& io) const;
  void multiply(Context& context, const Operands& io) const;
  void maximum(Context& context, const Operands& io) const;
  void sum_backward(Context& context, const Operands& io) const;
  void multiply_backward(Context& context, const Operands& io) const;
  void maximum_backward(Context& context, const Operands& io) const;
  bool plain_sum() const;

  EltwiseParameter::EltwiseOp operation_;
  std::vector<float> coeff_;  ///< one per bottom once inferred
  kernels::Activation relu_;  ///< fused
  bool dx_is_dy_ = false, dx_are_one_ = false;
};

LayerShapes EltwiseLayer::infer(const std::vector<Shape>& x) {
  require_same_shapes(x);
  if (operation_ == EltwiseParameter::MAX && x.size() > 256)
    throw FieldError("bottom[256]", "a maximum supports at most 256 bottoms, not " + std::to_string(x.size()));
  if (operation_ == EltwiseParameter::SUM && !coeff_.empty() && coeff_.size() != x.size())
    throw FieldError(miscounted("eltwise_param.coeff", int64_t(coeff_.size()), int64_t(x.size())),
                     count_of(int64_t(coeff_.size()), "coefficient", "coefficients") + " for " +
                         count_of(int64_t(x.size()), "bottom", "bottoms"),
                     "set one for each bottom, or none");
  coeff_.resize(x.size(), 1);
  return {.y = {x[0]}, .w = {}};
}

std::optional<kernels::PostOp> EltwiseLayer::as_post_op() const {
  if (!plain_sum() || coeff_.size() != 2) return std::nullopt;
  return kernels::SumOfTwo();
}

bool EltwiseLayer::accepts(const kernels::PostOps& post, NetMode) const {
  return operation_ == EltwiseParameter::SUM && post == kernels::PostOps{.activation = kernels::Activation::relu()};
}

bool EltwiseLayer::plain_sum() const {
  return operation_ == EltwiseParameter::SUM &&
         std::all_of(coeff_.begin(), coeff_.end(), [](float c) { return c == 1; });
}

LayerNeeds EltwiseLayer::prepare(const PrepareRequest& request, Context&) {
  const bool product = operation_ == EltwiseParameter::PROD;
  relu_ = request.post.activation;
  LayerNeeds needs;
  needs.backward_reads_x.assign(request.x.size(), product);
  needs.backward_reads_y = {bool(relu_)};
  needs.aliasing.dx_is_dy = dx_is_dy_ = plain_sum() && !relu_ && !request.observed;
  needs.aliasing.dx_are_one = dx_are_one_ = plain_sum() && relu_;
  needs.aliasing.dx_may_overwrite_dy = true;  // backward does dx[0] last
  needs.can_recompute_y = operation_ == EltwiseParameter::SUM;
  // With three bottoms y is written before the third is read, which may be x[0] again.
  needs.aliasing.y_may_overwrite_x = request.x.size() == 2 && !(product && request.backward);
  if (operation_ == EltwiseParameter::MAX && request.backward) needs.saved = {request.x[0].elements()};
  return needs;
}

void EltwiseLayer::forward(Context& context, const Operands& io) {
  switch (operation_) {
    case EltwiseParameter::SUM:
      return sum(context, io);
    case EltwiseParameter::PROD:
      return multiply(context, io);
    case EltwiseParameter::MAX:
      return maximum(context, io);
  }
}

void EltwiseLayer::backward(Context& context, const Operands& io) {
  switch (operation_) {
    case EltwiseParameter::SUM:
      return sum_backward(context, io);
    case EltwiseParameter::PROD:
      return multiply_backward(context, io);
    case EltwiseParameter::MAX:
      return maximum_backward(context, io);
  }
}

void EltwiseLayer::sum(Context& context, const Operands& io) const {
  const size_t last = io.x.size() - 1;
  const Tensor& y = io.y[0];
  if (plain_sum() && last == 1 && !relu_) return for_each_typed<PlainSumOfTwo>(context, io.x[0], io.x[1], y);
  const auto activation = [&](size_t k) { return k == last ? relu_ : kernels::Activation(); };
  for_each_typed<EltwiseSum>(context, io.x[0], io.x[1], y, coeff_[0], coeff_[1], activation(1));
  for (size_t k = 2; k <= last; ++k) for_each_typed<EltwiseSum>(context, y, io.x[k], y, 1.0f, coeff_[k], activation(k));
}

void EltwiseLayer::sum_backward(Context& context, const Operands& io) const {
  if (dx_is_dy_) return;
  const Tensor none;
  const Tensor& y = relu_ ? io.y[0] : none;
  for (size_t k = io.dx.size(); k-- > 0;) {
    if (!io.dx[k]) continue;
    for_each_typed<SumBackward>(context, io.dy[0], io.dx[k], y, coeff_[k]);
    if (dx_are_one_) return;
  }
}

void EltwiseLayer::multiply(Context& context, const Operands& io) const {
  for_each_typed<EltwiseProduct>(context, io.x[0], io.x[1], io.y[0]);
  for (size_t k = 2; k < io.x.size(); ++k) for_each_typed<EltwiseProduct>(context, io.y[0], io.x[k], io.y[0]);
}

void EltwiseLayer::multiply_backward(Context& context, const Operands& io) const {
  for (size_t k = io.dx.size(); k-- > 0;) {
    if (!io.dx[k]) continue;
    const Tensor* product = &io.dy[0];
    for (size_t other = 0; other < io.x.size(); ++other) {
      if (other == k) continue;
      for_each_typed<EltwiseProduct>(context, *product, io.x[other], io.dx[k]);
      product = &io.dx[k];
    }
  }
}

void EltwiseLayer::maximum(Context& context, const Operands& io) const {
  auto* winner = io.saved.empty() ? nullptr : static_cast<uint8_t*>(io.saved[0]);
  for_each_typed<FirstMax>(context, io.x[0], io.x[1], io.y[0], winner);
  for (size_t k = 2; k < io.x.size(); ++k) for_each_typed<LaterMax>(context, io.x[k], io.y[0], winner, uint8_t(k));
}

void EltwiseLayer::maximum_backward(Context& context, const Operands& io) const {
  const auto* winner = static_cast<const uint8_t*>(io.saved[0]);
  for (size_t k = io.dx.size(); k-- > 0;) {
    if (!io.dx[k]) continue;
    for_each_typed<MaxBackward>(context, io.dy[0], io.dx[k], winner, uint8_t(k));
  }
}

const RegisterLayer register_eltwise({
    .name = "Eltwise",
    .help = "sum, product or maximum of tensors of one shape",
    .options = "eltwise_param",
    .min_bottoms = 2,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<EltwiseLayer>,
    .family = LayerFamily::kCombine,
});

}  // namespace

}  // namespace cortado
