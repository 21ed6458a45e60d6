#include "kernels/softmax.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<Softmax> plan_softmax(const SoftmaxRequest& request, Context& context, std::string* refused) {
  if (!wants_cpu_candidates(context, request.dtype))
    return first_that_accepts<Softmax, SoftmaxRequest>({{"cudnn", make_softmax_cudnn}, {"plain", make_softmax_generic}},
                                                       request, context, refused);
  const Candidate<Softmax, SoftmaxRequest> onednn = {"onednn", make_softmax_onednn}, own = {"own", make_softmax_native},
                                           plain = {"plain", make_softmax_generic};
  if (is_small(request.outer * request.classes * request.inner))
    return first_that_accepts<Softmax, SoftmaxRequest>({own, onednn, plain}, request, context, refused);
  return first_that_accepts<Softmax, SoftmaxRequest>({onednn, own, plain}, request, context, refused);
}

bool softmax_wants_a_pass_of_its_own(const Context& context, DType dtype) {
  return wants_cpu_candidates(context, dtype) && dtype == DType::kF32;
}

}  // namespace cortado::kernels
