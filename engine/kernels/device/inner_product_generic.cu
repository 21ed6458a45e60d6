// Inner product by gemm_generic(): values of any float type with 32-bit weights, or in frozen nets with weights of
// their own type.

#include "core/half.h"
#include "core/loops/for_each.h"
#include "kernels/device/filter_format.h"
#include "kernels/device/gemm_generic.h"
#include "kernels/inner_product.h"

namespace cortado::kernels {
namespace {

template <typename T>
struct Column {
  const T* dy;
  int64_t outputs;
  Traffic traffic(int64_t n) const { return {n * int64_t(sizeof(T)), outputs * int64_t(sizeof(float))}; }
  CORTADO_HD float operator()(int64_t o, int64_t row) const { return dy[row * outputs + o]; }
};

class InnerProductGeneric final : public InnerProduct {
 public:
  InnerProductGeneric(const InnerProductRequest& request, WeightFormat weights)
      : r_(request), weights_(std::move(weights)) {}

  std::string name() const override { return "plain"; }
  WeightFormat weight_format() const override { return weights_; }
  int64_t forward_scratch() const override { return 0; }
  int64_t backward_scratch() const override { return 0; }

  void forward(Context& context, const void* x, const void* w, const void* bias, void* y, void*) override {
    state_copies(context, r_.bias);
    const DType w_type = weights_.dtype();
    const GemmShape shape{r_.rows, r_.outputs, r_.inputs, false, !r_.transpose, r_.dtype, w_type, r_.dtype};
    gemm_generic(context, {shape}, x, w, y, {.bias = bias, .activation = r_.post.activation});
  }

  void backward_data(Context& context, const void* dy, const float* w, void* dx, void*) override {
    state_copies(context, false);
    const GemmShape shape{r_.rows, r_.inputs, r_.outputs, false, r_.transpose, r_.dtype, DType::kF32, r_.dtype};
    gemm_generic(context, {shape}, dy, w, dx);
  }

  void backward_weights(Context& context, const void* x, const void* dy, const WeightGradients& d, void*) override {
    if (d.bias) {
      state_launches(context, 1, {});  // a library takes two passes
      with_float_type(r_.dtype, [&](auto type) {
        using T = decltype(type);
        reduce_rows(context, r_.outputs, r_.rows, Column<T>{static_cast<const T*>(dy), r_.outputs}, d.bias, d.add_bias);
      });
    }
    if (!d.w) return;
    const Shape w = r_.weight();
    const GemmShape shape{w[0], w[1], r_.rows, true, false, r_.dtype, r_.dtype, DType::kF32};
    gemm_generic(context, {shape}, r_.transpose ? x : dy, r_.transpose ? dy : x, d.w, {.beta = d.add_w ? 1.0f : 0.0f});
  }

 private:
  /// Counts what kernels/cuda/inner_product_cublaslt.cc does in addition: 16-bit values need weights and bias in 16
  /// bits.
  void state_copies(Context& context, bool bias) const {
    if (!weights_.is_plain() || r_.dtype == DType::kF32) return;
    const int64_t w = r_.inputs * r_.outputs, b = bias ? r_.outputs : 0, narrow = size_of(r_.dtype);
    state_launches(context, bias ? 2 : 1, {(w + b) * int64_t(sizeof(float)), (w + b) * narrow});
  }

  InnerProductRequest r_;
  WeightFormat weights_;
};

}  // namespace

std::unique_ptr<InnerProduct> make_inner_product_generic(const InnerProductRequest& request, Context&,
                                                         std::string& why) {
  const auto weights = device_format(request, why);
  return weights ? std::make_unique<InnerProductGeneric>(request, *weights) : nullptr;
}

}  // namespace cortado::kernels
