// Deconvolution3D: see layers/types/convolution3d.h.
#include "layers/registry.h"
#include "layers/types/convolution3d.h"

namespace cortado {

namespace {

const RegisterLayer register_deconvolution3d({
    .name = "Deconvolution3D",
    .help = "the transpose of Convolution3D: learned upsampling of volumes",
    .options = "convolution3d_param",
    .min_bottoms = 1,
    .max_bottoms = -1,
    .min_tops = 1,
    .max_tops = -1,
    .make = make_volume_deconvolution,
    .family = LayerFamily::kConvolution,
});

}  // namespace

}  // namespace cortado
