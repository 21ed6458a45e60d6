// VoxelSoftmax: C3D's name of Softmax for volumes, N x C x L x H x W: over the channels.

#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_softmax(const LayerOptions& options) { return find_layer_type("Softmax")->make(options); }

const RegisterLayer register_voxel_softmax({
    .name = "VoxelSoftmax",
    .help = "probabilities from the scores of each place of volumes",
    .options = "softmax_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_softmax,
});

}  // namespace

}  // namespace cortado
