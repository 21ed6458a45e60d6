// Batched matrix products on the CPU, one after the other, each by all threads.

#include "kernels/matmul.h"

namespace cortado::kernels {
namespace {

class OneByOne final : public MatMul {
 public:
  OneByOne(const MatMulRequest& request, GemmLibrary library) : r_(request), library_(library) {}

  std::string name() const override { return library_ == GemmLibrary::kOpenBlas ? "openblas" : "onednn"; }

  void run(Context& context, const void* a, const void* b, void* c, void*) override {
    const auto *first = static_cast<const float*>(a), *second = static_cast<const float*>(b);
    auto* sums = static_cast<float*>(c);
    const int64_t step_c = r_.adds_up ? 0 : r_.shape.m * r_.shape.n;
    for (int64_t i = 0; i < r_.count; ++i)
      gemm_cpu(context, library_, r_.shape, first + i * r_.step_a, second + i * r_.step_b, sums + i * step_c,
               r_.adds_up && i > 0 ? 1.0f : 0.0f, r_.alpha);
  }

 private:
  MatMulRequest r_;
  GemmLibrary library_;
};

bool takes(const MatMulRequest& request, Context& context, std::string& why) {
  if (!context.device.is_cpu()) return why = "not on the CPU", false;
  const GemmShape& s = request.shape;
  if (s.a != DType::kF32 || s.b != DType::kF32 || s.c != DType::kF32) return why = "32-bit floats only", false;
  if (request.adds_up && request.count == 0) return why = "no products to sum", false;
  return true;
}

}  // namespace

std::unique_ptr<MatMul> make_matmul_onednn(const MatMulRequest& request, Context& context, std::string& why) {
  if (!takes(request, context, why)) return nullptr;
  return std::make_unique<OneByOne>(request, GemmLibrary::kOneDnn);
}

std::unique_ptr<MatMul> make_matmul_openblas(const MatMulRequest& request, Context& context, std::string& why) {
  if (!takes(request, context, why) || !suits_openblas(context, why)) return nullptr;
  return std::make_unique<OneByOne>(request, GemmLibrary::kOpenBlas);
}

}  // namespace cortado::kernels
