// Batched matrix products by one call of cuBLASLt. It cannot sum over a batch: then each product is added to 32-bit
// sums by a separate call, always in the same order.

#include <climits>

#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/cudnn.h"
#include "kernels/device/filters.h"
#include "kernels/matmul.h"
#include "kernels/scratch.h"

namespace cortado::kernels {
namespace {

class InOneCall final : public MatMul {
 public:
  InOneCall(const MatMulRequest& r, Context& context)
      : product_(context, r.shape, {.alpha = r.alpha}, {r.count, r.step_a, r.step_b}) {}

  std::string name() const override { return "cublaslt"; }
  int64_t scratch() const override { return product_.workspace(); }
  void run(Context& context, const void* a, const void* b, void* c, void* scratch) override {
    product_.run(context, a, b, c, 0, nullptr, scratch);
  }

 private:
  cublaslt::Product product_;
};

GemmShape in_floats(GemmShape shape) {
  shape.c = DType::kF32;
  return shape;
}

class AddedUp final : public MatMul {
 public:
  AddedUp(const MatMulRequest& r, Context& context)
      : r_(r),
        product_(context, in_floats(r.shape), {.alpha = r.alpha}),
        sums_{1, 1, r.shape.m * r.shape.n, false, r.shape.c} {
    scratch_.add(product_.workspace());
    if (rounds()) sums_at_ = scratch_.add(r.shape.m * r.shape.n * int64_t(sizeof(float)));
  }

  std::string name() const override { return "cublaslt"; }
  int64_t scratch() const override { return scratch_.bytes(); }
  void run(Context& context, const void* a, const void* b, void* c, void* scratch) override {
    void* sums = rounds() ? scratch_part(scratch, sums_at_) : c;
    const int64_t bytes = size_of(r_.shape.a);
    for (int64_t i = 0; i < r_.count; ++i)
      product_.run(context, static_cast<const char*>(a) + i * r_.step_a * bytes,
                   static_cast<const char*>(b) + i * r_.step_b * bytes, sums, i > 0 ? 1.0f : 0.0f, nullptr, scratch);
    if (rounds()) fill_filters(context, sums_, static_cast<const float*>(sums), c);
  }

 private:
  bool rounds() const { return r_.shape.c != DType::kF32; }

  MatMulRequest r_;
  cublaslt::Product product_;
  FilterCopy sums_;  ///< sums in the type of c
  ScratchLayout scratch_;
  int64_t sums_at_ = 0;
};

}  // namespace

std::unique_ptr<MatMul> make_matmul_cublaslt(const MatMulRequest& r, Context& context, std::string& why) {
  if (!cudnn::runs_here(context, why)) return nullptr;
  if (r.count == 0 || r.shape.m == 0 || r.shape.n == 0 || r.shape.k == 0) return why = "no elements", nullptr;
  if (r.shape.a != r.shape.b) return why = "operands of two types", nullptr;
  if (!r.adds_up && r.count > INT_MAX) return why = "too many matrices", nullptr;
  return cudnn::attempt(why, [&]() -> std::unique_ptr<MatMul> {
    if (r.adds_up) return std::make_unique<AddedUp>(r, context);
    return std::make_unique<InOneCall>(r, context);
  });
}

}  // namespace cortado::kernels
