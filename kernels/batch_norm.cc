#include "kernels/batch_norm.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<BatchNorm> plan_batch_norm(const BatchNormRequest& request, Context& context, std::string* refused) {
  return first_that_accepts<BatchNorm, BatchNormRequest>({{"own", make_batch_norm_own}}, request, context, refused);
}

}  // namespace cortado::kernels
