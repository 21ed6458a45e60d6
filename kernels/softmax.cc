#include "kernels/softmax.h"

#include "kernels/candidates.h"

namespace cortado::kernels {

std::unique_ptr<Softmax> plan_softmax(const SoftmaxRequest& request, Context& context, std::string* refused) {
  return first_that_accepts<Softmax, SoftmaxRequest>({{"onednn", make_softmax_onednn}, {"own", make_softmax_own}},
                                                     request, context, refused);
}

}  // namespace cortado::kernels
