// Inner product as three matrix products. Accepts every request; weights in another format are converted to plain in
// scratch for each call.

#include <algorithm>

#include "core/threads/threads.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/post_ops_lanes.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/gemm.h"
#include "kernels/inner_product.h"

namespace cortado::kernels {
namespace {

class Gemm final : public InnerProduct {
 public:
  Gemm(const InnerProductRequest& request, GemmLibrary library)
      : r_(request), library_(library), format_(request.w_format.value_or(WeightFormat(request.weight()))) {}

  std::string name() const override { return library_ == GemmLibrary::kOpenBlas ? "openblas" : "gemm"; }
  WeightFormat weight_format() const override { return format_; }
  int64_t forward_scratch() const override {
    return format_.is_plain() ? 0 : r_.weight().count() * int64_t(sizeof(float));
  }
  int64_t backward_scratch() const override { return forward_scratch(); }

  void forward(Context& context, const void* x, const void* w, const void* bias, void* result, void* scratch) override {
    float* y = floats(result);
    gemm(context, {r_.rows, r_.outputs, r_.inputs, false, !r_.transpose}, x, plain(context, floats(w), scratch), y, 0,
         library_);
    if (!bias && !r_.post.activation) return;
    with_activation(r_.post.activation.kind, [&](auto kind) {
      parallel_ranges(context, r_.rows, 1, [&](int64_t begin, int64_t end) {
        const Activation activation{kind, r_.post.activation.ceiling};
        for (int64_t i = begin; i < end; ++i)
          for (int64_t o = 0; o < r_.outputs; ++o) {
            float& value = y[i * r_.outputs + o];
            value = activation(value + (bias ? floats(bias)[o] : 0));
          }
      });
    });
  }

  void backward_data(Context& context, const void* dy, const float* w, void* dx, void* scratch) override {
    gemm(context, {r_.rows, r_.inputs, r_.outputs, false, r_.transpose}, dy, plain(context, w, scratch), dx, 0,
         library_);
  }

  void backward_weights(Context& context, const void* x, const void* dy, const WeightGradients& d,
                        void* scratch) override {
    if (d.bias) sum_rows(context, floats(dy), r_.rows, r_.outputs, d.bias, d.add_bias);
    if (!d.w) return;
    float* dw = format_.is_plain() ? d.w : static_cast<float*>(scratch);
    if (d.add_w && !format_.is_plain()) format_.to_plain(context, d.w, dw);
    const float beta = d.add_w ? 1 : 0;
    if (r_.transpose)
      gemm(context, {r_.inputs, r_.outputs, r_.rows, true, false}, x, dy, dw, beta, library_);
    else
      gemm(context, {r_.outputs, r_.inputs, r_.rows, true, false}, dy, x, dw, beta, library_);
    if (!format_.is_plain()) format_.from_plain(context, dw, d.w);
  }

 private:
  const float* plain(Context& context, const float* w, void* scratch) const {
    if (format_.is_plain()) return w;
    format_.to_plain(context, w, static_cast<float*>(scratch));
    return static_cast<float*>(scratch);
  }

  InnerProductRequest r_;
  GemmLibrary library_;
  WeightFormat format_;
};

}  // namespace

std::unique_ptr<InnerProduct> make_inner_product_gemm(const InnerProductRequest& request, Context&, std::string& why) {
  if (!takes(request.dtype, why)) return nullptr;
  return std::make_unique<Gemm>(request, GemmLibrary::kOneDnn);
}

std::unique_ptr<InnerProduct> make_inner_product_openblas(const InnerProductRequest& request, Context& context,
                                                          std::string& why) {
  if (!takes(request.dtype, why) || !suits_openblas(context, why)) return nullptr;
  return std::make_unique<Gemm>(request, GemmLibrary::kOpenBlas);
}

}  // namespace cortado::kernels
