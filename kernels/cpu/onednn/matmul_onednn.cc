// Products of many matrices on the CPU, each by gemm_onednn(), which has all threads.

#include "kernels/matmul.h"

namespace cortado::kernels {
namespace {

class OneByOne final : public MatMul {
 public:
  explicit OneByOne(const MatMulRequest& request) : r_(request) {}

  std::string name() const override { return "onednn"; }

  void run(Context& context, const void* a, const void* b, void* c, void*) override {
    const auto *first = static_cast<const float*>(a), *second = static_cast<const float*>(b);
    auto* sums = static_cast<float*>(c);
    const int64_t step_c = r_.adds_up ? 0 : r_.shape.m * r_.shape.n;
    for (int64_t i = 0; i < r_.count; ++i)
      gemm_onednn(context, r_.shape, first + i * r_.step_a, second + i * r_.step_b, sums + i * step_c,
                  r_.adds_up && i > 0 ? 1.0f : 0.0f, r_.alpha);
  }

 private:
  MatMulRequest r_;
};

}  // namespace

std::unique_ptr<MatMul> make_matmul_onednn(const MatMulRequest& request, Context& context, std::string& why) {
  if (!context.device.is_cpu()) return why = "not on the CPU", nullptr;
  const GemmShape& s = request.shape;
  if (s.a != DType::kF32 || s.b != DType::kF32 || s.c != DType::kF32) return why = "floats alone", nullptr;
  if (request.adds_up && request.count == 0) return why = "nothing to add up", nullptr;
  return std::make_unique<OneByOne>(request);
}

}  // namespace cortado::kernels
