// SoftmaxWithLossOHEM (R-FCN): SoftmaxWithLoss whose third top is the loss of each row before anything is divided, by
// which BoxAnnotatorOHEM finds the hardest regions. An ignored row has loss 0. Whatever SoftmaxWithLoss takes is taken
// here. Unlike there a gradient that arrives at the second or third top flows on; propagate_down says that none does.

#include "layers/registry.h"
#include "layers/types/softmax_with_loss.h"

namespace cortado {

namespace {

const RegisterLayer register_softmax_with_loss_ohem({
    .name = "SoftmaxWithLossOHEM",
    .help = "SoftmaxWithLoss that also gives the loss of each row",
    .options = "loss_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 3,
    .make = make_softmax_with_loss,
    .loss = LossRole{.answer = "Softmax", .axis = softmax_axis},
});

}  // namespace

}  // namespace cortado
