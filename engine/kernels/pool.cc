#include "kernels/pool.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<Pool> plan_pool(const PoolRequest& request, Context& context, std::string* refused) {
  if (is_8_bit(request.x.dtype))
    return first_that_accepts<Pool, PoolRequest>({{"bytes", make_pool_bytes}}, request, context, refused);
  if (!wants_cpu_candidates(context, request.x.dtype))
    return first_that_accepts<Pool, PoolRequest>({{"plain", make_pool_generic}}, request, context, refused);
  const Candidate<Pool, PoolRequest> onednn = {"onednn", make_pool_onednn}, own = {"own", make_pool_native};
  const bool overlapping_average = request.average && request.stride_w == 1 && request.y.shape[3] > 1;
  if (request.x.layout == Layout::kBlocked16 && !overlapping_average)
    return first_that_accepts<Pool, PoolRequest>({own}, request, context, refused);
  return first_that_accepts<Pool, PoolRequest>({onednn, own}, request, context, refused);
}

}  // namespace cortado::kernels
