#include "kernels/batch_norm.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<BatchNorm> plan_batch_norm(const BatchNormRequest& request, Context& context, std::string* refused) {
  if (!wants_cpu_candidates(context, request.x.dtype))
    return first_that_accepts<BatchNorm, BatchNormRequest>({{"plain", make_batch_norm_generic}}, request, context,
                                                           refused);
  return first_that_accepts<BatchNorm, BatchNormRequest>({{"own", make_batch_norm_native}}, request, context, refused);
}

}  // namespace cortado::kernels
