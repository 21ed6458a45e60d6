// FQConvolution (caffe-FQ, Park): a convolution whose weights are rounded to fixed-point values in each pass. Gradients
// are those of the rounded weights; solvers change the weights themselves. layers/common/weights/fixed_point.h has the
// rule.

#include "layers/common/weights/fixed_point.h"
#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_fq_convolution(const LayerOptions& options) {
  return with_fixed_point_weights(find_layer_type("Convolution")->make(options), options);
}

const RegisterLayer register_fq_convolution({
    .name = "FQConvolution",
    .help = "a convolution with fixed-point weights (caffe-FQ)",
    .options = "convolution_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_fq_convolution,
    .family = LayerFamily::kConvolution,
});

}  // namespace

}  // namespace cortado
