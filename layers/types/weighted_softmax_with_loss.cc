// WeightedSoftmaxWithLoss: SoftmaxWithLoss in which samples of the class softmax_param.pos_cid count pos_mult. Its
// owner has published no definition but the two names; that the normalizers of loss_param count samples, not weights,
// is what Caffe's layers of that time do.

#include "layers/registry.h"
#include "layers/types/softmax_with_loss.h"

namespace cortado {

namespace {

const RegisterLayer register_weighted_softmax_with_loss({
    .name = "WeightedSoftmaxWithLoss",
    .help = "SoftmaxWithLoss in which the samples of one class count more",
    .options = "softmax_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_weighted_softmax_with_loss,
    .loss = LossRole{.answer = "Softmax", .axis = softmax_axis},
});

}  // namespace

}  // namespace cortado
