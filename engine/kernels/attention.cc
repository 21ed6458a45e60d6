#include "kernels/attention.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<Attention> plan_attention(const AttentionRequest& request, Context& context, std::string* refused) {
  const Candidate<Attention, AttentionRequest> own = {"own", make_attention_native},
                                               plain = {"plain", make_attention_generic};
  if (wants_cpu_candidates(context, DType::kF32))
    return first_that_accepts<Attention, AttentionRequest>({own, plain}, request, context, refused);
  return first_that_accepts<Attention, AttentionRequest>({plain}, request, context, refused);
}

}  // namespace cortado::kernels
