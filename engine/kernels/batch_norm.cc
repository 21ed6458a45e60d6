#include "kernels/batch_norm.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<BatchNorm> plan_batch_norm(const BatchNormRequest& request, Context& context, std::string* refused) {
  if (!wants_cpu_candidates(context, request.x.dtype))
    return first_that_accepts<BatchNorm, BatchNormRequest>({{"plain", make_batch_norm_generic}}, request, context,
                                                           refused);
  return first_that_accepts<BatchNorm, BatchNormRequest>({{"own", make_batch_norm_native}}, request, context, refused);
}

/// Unshifted sums lose precision in the variance if the mean is large. In 16 bits x itself has lost more, so cuDNN
/// engines may compute them there; in 32 bits the kernel computes shifted sums. Maps round differently, too.
BatchNormFusions batch_norm_fusions(const Context& context) {
  const bool on_device = !context.device.is_cpu(), in_16_bits = value_type(context.precision) != DType::kF32;
  return {.gradients = on_device, .statistics = on_device && in_16_bits, .maps = on_device && in_16_bits};
}

}  // namespace cortado::kernels
