#include "kernels/reorder.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<Reorder> plan_reorder(const ReorderRequest& request, Context& context, std::string* refused) {
  if (!wants_cpu_candidates(context, request.from.dtype) || request.to.dtype != DType::kF32)
    return first_that_accepts<Reorder, ReorderRequest>({{"plain", make_reorder_generic}}, request, context, refused);
  return first_that_accepts<Reorder, ReorderRequest>({{"onednn", make_reorder_onednn}, {"own", make_reorder_native}},
                                                     request, context, refused);
}

}  // namespace cortado::kernels
