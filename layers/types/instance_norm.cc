// InstanceNorm: normalizes each channel of each sample to mean 0 and variance 1; with `affine`, a learned scale and
// bias for each channel follow. It is a GroupNorm with one channel per group. Unlike MVN it adds eps to the variance.

#include "layers/registry.h"
#include "layers/types/group_norm.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_instance_norm(const LayerOptions& options) {
  return make_group_norm(norm_options(options.config.instance_norm_param(), "instance_norm_param"), 0);
}

const RegisterLayer register_instance_norm({
    .name = "InstanceNorm",
    .help = "normalizes each channel of each sample to mean 0 and variance 1",
    .options = "instance_norm_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_instance_norm,
    .family = LayerFamily::kNorm,
});

}  // namespace

}  // namespace cortado
