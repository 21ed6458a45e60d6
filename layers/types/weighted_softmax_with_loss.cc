// WeightedSoftmaxWithLoss: SoftmaxWithLoss with weight pos_mult for samples of the class softmax_param.pos_cid. Only
// the names of the two options are published. The normalizers of loss_param count samples, not weights, as in Caffe's
// layers of that time.

#include "layers/registry.h"
#include "layers/types/softmax_with_loss.h"

namespace cortado {

namespace {

const RegisterLayer register_weighted_softmax_with_loss({
    .name = "WeightedSoftmaxWithLoss",
    .help = "SoftmaxWithLoss with a weight for the samples of one class",
    .options = "softmax_param",
    .min_bottoms = 2,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_weighted_softmax_with_loss,
    .loss = LossRole{.answer = "Softmax", .axis = softmax_axis},
    .loss_fields = kAllLossFields,
});

}  // namespace

}  // namespace cortado
