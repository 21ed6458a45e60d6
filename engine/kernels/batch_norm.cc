#include "kernels/batch_norm.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<BatchNorm> plan_batch_norm(const BatchNormRequest& request, Context& context, std::string* refused) {
  if (!wants_cpu_candidates(context, request.x.dtype))
    return first_that_accepts<BatchNorm, BatchNormRequest>({{"plain", make_batch_norm_generic}}, request, context,
                                                           refused);
  return first_that_accepts<BatchNorm, BatchNormRequest>({{"own", make_batch_norm_native}}, request, context, refused);
}

/// Sums that are not shifted lose as many bits of a variance as the mean's square is larger. In 16 bits x itself has
/// lost more: then engines of cuDNN's may find them, and elsewhere shifted ones are made. Maps, too, round otherwise.
BatchNormFusions batch_norm_fusions(const Context& context) {
  const bool on_device = !context.device.is_cpu(), in_16_bits = value_type(context.precision) != DType::kF32;
  return {.gradients = on_device, .statistics = on_device && in_16_bits, .maps = on_device && in_16_bits};
}

}  // namespace cortado::kernels
