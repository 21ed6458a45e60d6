// SeLu: y = lambda x above 0, lambda alpha (e^x - 1) below (Klambauer, Unterthiner, Mayr and Hochreiter 2017): ELU with
// other defaults, for which y keeps a mean of 0 and a variance of 1 (layers/types/elu.cu).

#include "layers/registry.h"
#include "layers/types/elu.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_selu(const LayerOptions& options) {
  return make_elu(options.config.selu_param().alpha(), options.config.selu_param().lambda());
}

const RegisterLayer register_selu({
    .name = "SeLu",
    .help = "a scaled ELU: lambda x above 0, lambda alpha (e^x - 1) below",
    .options = "selu_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_selu,
    .family = LayerFamily::kActivation,
    .stacks = true,
});

}  // namespace

}  // namespace cortado
