#include "kernels/matmul.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<MatMul> plan_matmul(const MatMulRequest& request, Context& context, std::string* refused) {
  const Candidate<MatMul, MatMulRequest> plain = {"plain", make_matmul_generic};
  if (wants_cpu_candidates(context, request.shape.a))
    return first_that_accepts<MatMul, MatMulRequest>(
        {{"openblas", make_matmul_openblas}, {"onednn", make_matmul_onednn}, plain}, request, context, refused);
  return first_that_accepts<MatMul, MatMulRequest>({{"cublaslt", make_matmul_cublaslt}, plain}, request, context,
                                                   refused);
}

}  // namespace cortado::kernels
