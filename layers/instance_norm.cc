// InstanceNorm: each channel of each sample brought to mean 0 and variance 1; with `affine` a learned factor and term
// for each channel. It is a GroupNorm with a group for each channel. Unlike MVN it adds eps to the variance.

#include "layers/group_norm.h"
#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_instance_norm(const LayerOptions& options) {
  return make_group_norm(norm_options(options.config.instance_norm_param(), "instance_norm_param"), 0);
}

const RegisterLayer registered({
    .name = "InstanceNorm",
    .help = "each channel of each sample brought to mean 0 and variance 1",
    .options = "instance_norm_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_instance_norm,
});

}  // namespace

}  // namespace cortado
