// Inner product by cuBLASLt with a fused bias. 16-bit values use 16-bit copies of the weights, converted in scratch on
// each call unless the net is frozen. Gradients of weights are 32-bit floats. The ReLU is our own: it is not documented
// that the library's ReLU propagates NaN, without which divergence would be hidden.

#include <optional>

#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/device/filter_format.h"
#include "kernels/device/filters.h"
#include "kernels/inner_product.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

using cublaslt::Product;

class CublasLt final : public InnerProduct {
 public:
  CublasLt(const InnerProductRequest& request, WeightFormat weights, Context& context)
      : r_(request),
        weights_format_(std::move(weights)),
        w_{1, r_.inputs, r_.outputs, false, r_.dtype},
        b_{1, 1, r_.outputs, false, r_.dtype},
        y_{{r_.rows, r_.outputs}, r_.dtype} {
    const DType t = r_.dtype;
    forward_.prepare(context, {r_.rows, r_.outputs, r_.inputs, false, !r_.transpose, t, t, t}, {r_.bias});
    if (copies(w_)) w_at_ = forward_.scratch.add(w_.bytes());
    if (r_.bias && copies(b_)) bias_at_ = forward_.scratch.add(b_.bytes());
    if (r_.backward_data) {
      data_.prepare(context, {r_.rows, r_.inputs, r_.outputs, false, r_.transpose, t, t, t}, {});
      if (copies(w_)) data_w_at_ = data_.scratch.add(w_.bytes());
    }
    const Shape w = r_.weight();
    if (!r_.backward_weights) return;
    weights_.prepare(context, {w[0], w[1], r_.rows, true, false, t, t, DType::kF32}, {});
    if (r_.bias) sums_at_ = weights_.scratch.add(bias_gradient_scratch(y_));
  }

  std::string name() const override { return "cublaslt"; }
  WeightFormat weight_format() const override { return weights_format_; }
  int64_t forward_scratch() const override { return forward_.scratch.bytes(); }
  int64_t backward_scratch() const override { return std::max(data_.scratch.bytes(), weights_.scratch.bytes()); }

  void forward(Context& context, const void* x, const void* w, const void* bias, void* y, void* scratch) override {
    const void* added = r_.bias ? copied(context, b_, bias, scratch, bias_at_) : nullptr;
    forward_.run(context, x, copied(context, w_, w, scratch, w_at_), y, 0, added, scratch);
    if (r_.post.activation) finish_convolution(context, y_, y, {.activation = r_.post.activation}, y);
  }

  void backward_data(Context& context, const void* dy, const float* w, void* dx, void* scratch) override {
    data_.run(context, dy, copied(context, w_, w, scratch, data_w_at_), dx, 0, nullptr, scratch);
  }

  void backward_weights(Context& context, const void* x, const void* dy, const WeightGradients& d,
                        void* scratch) override {
    if (d.bias) bias_gradient(context, y_, dy, d.bias, d.add_bias, scratch_part(scratch, sums_at_));
    if (!d.w) return;
    const void *a = r_.transpose ? x : dy, *b = r_.transpose ? dy : x;
    weights_.run(context, a, b, d.w, d.add_w ? 1.0f : 0.0f, nullptr, scratch);
  }

 private:
  /// A product, and its workspace at the start of the direction's scratch.
  struct Direction {
    std::optional<Product> product;
    ScratchLayout scratch;

    void prepare(Context& context, const GemmShape& shape, const cublaslt::After& after) {
      product.emplace(context, shape, after);
      scratch.add(product->workspace());
    }
    void run(Context& context, const void* a, const void* b, void* c, float beta, const void* bias, void* workspace) {
      product->run(context, a, b, c, beta, bias, workspace);
    }
  };

  /// Whether an operand must be converted from 32-bit floats.
  bool copies(const FilterCopy& spec) const { return weights_format_.is_plain() && spec.differs(); }

  const void* copied(Context& context, const FilterCopy& spec, const void* w, void* scratch, int64_t at) const {
    if (!copies(spec)) return w;
    void* copy = scratch_part(scratch, at);
    fill_filters(context, spec, static_cast<const float*>(w), copy);
    return copy;
  }

  InnerProductRequest r_;
  WeightFormat weights_format_;
  FilterCopy w_, b_;  ///< the weights and the bias in the type of x
  TensorSpec y_;
  Direction forward_, data_, weights_;
  int64_t w_at_ = 0, bias_at_ = 0, data_w_at_ = 0, sums_at_ = 0;
};

}  // namespace

std::unique_ptr<InnerProduct> make_inner_product_cublaslt(const InnerProductRequest& request, Context& context,
                                                          std::string& why) {
  if (!cudnn::runs_here(context, why)) return nullptr;
  if (request.rows == 0 || request.inputs == 0 || request.outputs == 0) return why = "no elements", nullptr;
  const auto weights = device_format(request, why);
  if (!weights) return nullptr;
  return cudnn::attempt(
      why, [&]() -> std::unique_ptr<InnerProduct> { return std::make_unique<CublasLt>(request, *weights, context); });
}

}  // namespace cortado::kernels
