#include "kernels/lrn.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<Lrn> plan_lrn(const LrnRequest& request, Context& context, std::string* refused) {
  if (!wants_cpu_candidates(context, request.x.dtype))
    return first_that_accepts<Lrn, LrnRequest>({{"plain", make_lrn_generic}}, request, context, refused);
  return first_that_accepts<Lrn, LrnRequest>({{"own", make_lrn_native}}, request, context, refused);
}

}  // namespace cortado::kernels
