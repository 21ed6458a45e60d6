// VoxelSoftmaxLoss: C3D's name of SoftmaxWithLoss for volumes: scores N x C x L x H x W, a label for each position.
// Both are the mean over all positions.

#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_softmax_loss(const LayerOptions& options) {
  return find_layer_type("SoftmaxWithLoss")->make(options);
}

const RegisterLayer register_voxel_softmax_loss({
    .name = "VoxelSoftmaxLoss",
    .help = "softmax and the negative log-likelihood of the labels of volumes",
    .options = "loss_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 2,
    .make = make_softmax_loss,
    .loss = LossRole{.answer = "Softmax", .axis = softmax_axis},
    .loss_fields = kAllLossFields,
});

}  // namespace

}  // namespace cortado
