#include "kernels/inner_product.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<InnerProduct> plan_inner_product(const InnerProductRequest& request, Context& context,
                                                 std::string* refused) {
  if (!wants_cpu_candidates(context, request.dtype))
    return first_that_accepts<InnerProduct, InnerProductRequest>(
        {{"cublaslt", make_inner_product_cublaslt}, {"plain", make_inner_product_generic}}, request, context, refused);
  return first_that_accepts<InnerProduct, InnerProductRequest>(
      {{"onednn", make_inner_product_onednn}, {"gemm", make_inner_product_gemm}}, request, context, refused);
}

}  // namespace cortado::kernels
