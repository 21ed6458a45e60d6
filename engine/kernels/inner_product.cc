#include "kernels/inner_product.h"

#include "kernels/candidates.h"
#include "kernels/cpu_level.h"

namespace cortado::kernels {

std::unique_ptr<InnerProduct> plan_inner_product(const InnerProductRequest& request, Context& context,
                                                 std::string* refused) {
  if (!wants_cpu_candidates(context, request.dtype))
    return first_that_accepts<InnerProduct, InnerProductRequest>(
        {{"cublaslt", make_inner_product_cublaslt}, {"plain", make_inner_product_generic}}, request, context, refused);
  const Candidate<InnerProduct, InnerProductRequest> onednn = {"onednn", make_inner_product_onednn},
                                                     gemm = {"gemm", make_inner_product_gemm},
                                                     openblas = {"openblas", make_inner_product_openblas},
                                                     floats = {"as floats", make_inner_product_as_floats};
  // Below AVX-512 oneDNN's inner product is its GEMM, too, but not split into pieces that any thread may take.
  if (context.handle<CpuLevels>().onednn != CpuLevel::kAvx512)
    return first_that_accepts<InnerProduct, InnerProductRequest>({openblas, gemm, onednn, floats}, request, context,
                                                                 refused);
  return first_that_accepts<InnerProduct, InnerProductRequest>({onednn, gemm, floats}, request, context, refused);
}

}  // namespace cortado::kernels
