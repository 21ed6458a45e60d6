#include "kernels/pool.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<Pool> plan_pool(const PoolRequest& request, Context& context, std::string* refused) {
  return first_that_accepts<Pool, PoolRequest>({{"onednn", make_pool_onednn}, {"own", make_pool_own}}, request, context,
                                               refused);
}

}  // namespace cortado::kernels
