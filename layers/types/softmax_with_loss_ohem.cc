// SoftmaxWithLossOHEM (R-FCN): SoftmaxWithLoss whose third top is the loss of each row before the division, from which
// BoxAnnotatorOHEM selects the hardest regions. An ignored row has loss 0. It supports all options of SoftmaxWithLoss.
// Unlike in R-FCN the gradients of the second and third top are propagated; propagate_down can disable that.

#include "layers/registry.h"
#include "layers/types/softmax_with_loss.h"

namespace cortado {

namespace {

const RegisterLayer register_softmax_with_loss_ohem({
    .name = "SoftmaxWithLossOHEM",
    .help = "SoftmaxWithLoss with the loss of each row as a third top",
    .options = "loss_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 3,
    .make = make_softmax_with_loss,
    .loss = LossRole{.answer = "Softmax", .axis = softmax_axis},
    .loss_fields = kAllLossFields,
});

}  // namespace

}  // namespace cortado
