// Convolution3D: see layers/types/convolution3d.h.
#include "layers/types/convolution3d.h"

#include "layers/registry.h"

namespace cortado {

namespace {

const RegisterLayer register_convolution3d({
    .name = "Convolution3D",
    .help = "cross-correlation of volumes with learned filters",
    .options = "convolution3d_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_volume_convolution,
    .family = LayerFamily::kConvolution,
});

}  // namespace

}  // namespace cortado
