#include "kernels/reorder.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<Reorder> plan_reorder(const ReorderRequest& request, Context& context, std::string* refused) {
  if (is_8_bit(request.from.dtype) || is_8_bit(request.to.dtype))
    return first_that_accepts<Reorder, ReorderRequest>({{"onednn", make_reorder_onednn}}, request, context, refused);
  if (!wants_cpu_candidates(context, request.from.dtype) || !wants_cpu_candidates(context, request.to.dtype))
    return first_that_accepts<Reorder, ReorderRequest>({{"plain", make_reorder_generic}}, request, context, refused);
  const Candidate<Reorder, ReorderRequest> onednn = {"onednn", make_reorder_onednn}, own = {"own", make_reorder_native};
  if (is_small(request.from.shape.count()))
    return first_that_accepts<Reorder, ReorderRequest>({own, onednn}, request, context, refused);
  return first_that_accepts<Reorder, ReorderRequest>({onednn, own}, request, context, refused);
}

}  // namespace cortado::kernels
