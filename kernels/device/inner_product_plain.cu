// The fully connected product by gemm_plain(): 32-bit weights are multiplied with values of any float type as they are.

#include "core/for_each.h"
#include "core/half.h"
#include "kernels/device/gemm_plain.h"
#include "kernels/inner_product.h"

namespace cortado::kernels {
namespace {

template <typename T>
struct Column {
  const T* dy;
  int64_t outputs;
  CORTADO_HD float operator()(int64_t o, int64_t row) const { return dy[row * outputs + o]; }
};

class Plain final : public InnerProduct {
 public:
  explicit Plain(const InnerProductRequest& request) : r_(request) {}

  std::string name() const override { return "plain"; }
  WeightFormat weight_format() const override { return WeightFormat(r_.weight()); }
  int64_t forward_scratch() const override { return 0; }
  int64_t backward_scratch() const override { return 0; }

  void forward(Context& context, const void* x, const float* w, const float* bias, void* y, void*) override {
    const GemmShape shape{r_.rows, r_.outputs, r_.inputs, false, !r_.transpose, r_.dtype, DType::kF32, r_.dtype};
    gemm_plain(context, shape, x, w, y, 0, bias, r_.relu);
  }

  void backward_data(Context& context, const void* dy, const float* w, void* dx, void*) override {
    const GemmShape shape{r_.rows, r_.inputs, r_.outputs, false, r_.transpose, r_.dtype, DType::kF32, r_.dtype};
    gemm_plain(context, shape, dy, w, dx, 0, nullptr, false);
  }

  void backward_weights(Context& context, const void* x, const void* dy, const Gradients& d, void*) override {
    if (d.bias)
      with_float_type(r_.dtype, [&](auto type) {
        using T = decltype(type);
        reduce_rows(context, r_.outputs, r_.rows, Column<T>{static_cast<const T*>(dy), r_.outputs}, d.bias, d.add_bias);
      });
    if (!d.w) return;
    const Shape w = r_.weight();
    const GemmShape shape{w[0], w[1], r_.rows, true, false, r_.dtype, r_.dtype, DType::kF32};
    gemm_plain(context, shape, r_.transpose ? x : dy, r_.transpose ? dy : x, d.w, d.add_w ? 1.0f : 0.0f, nullptr,
               false);
  }

 private:
  InnerProductRequest r_;
};

}  // namespace

std::unique_ptr<InnerProduct> make_inner_product_plain(const InnerProductRequest& request, Context&, std::string& why) {
  if (request.w_format && !request.w_format->is_plain()) return why = "the weights lie otherwise", nullptr;
  return std::make_unique<Plain>(request);
}

}  // namespace cortado::kernels
