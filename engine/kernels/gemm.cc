#include "kernels/gemm.h"

#include "kernels/candidates.h"
#include "kernels/device/gemm_generic.h"

namespace cortado::kernels {

void gemm(Context& context, const GemmShape& s, const void* a, const void* b, void* c, float beta,
          GemmLibrary library) {
  const bool floats = s.a == DType::kF32 && s.b == DType::kF32 && s.c == DType::kF32;
  if (floats && wants_cpu_candidates(context, DType::kF32))
    return gemm_cpu(context, library, s, static_cast<const float*>(a), static_cast<const float*>(b),
                    static_cast<float*>(c), beta);
  gemm_generic(context, {s}, a, b, c, {.beta = beta});
}

}  // namespace cortado::kernels
