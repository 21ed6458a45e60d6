// FQInnerProduct (caffe-FQ, Park): an inner product whose weights are rounded to fixed-point values in each pass.
// Gradients are those of the rounded weights; solvers change the weights themselves.
// layers/common/weights/fixed_point.h has the rule.

#include "layers/common/weights/fixed_point.h"
#include "layers/registry.h"

namespace cortado {

namespace {

std::unique_ptr<Layer> make_fq_inner_product(const LayerOptions& options) {
  return with_fixed_point_weights(find_layer_type("InnerProduct")->make(options), options);
}

const RegisterLayer register_fq_inner_product({
    .name = "FQInnerProduct",
    .help = "an inner product with fixed-point weights (caffe-FQ)",
    .options = "inner_product_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_fq_inner_product,
    .family = LayerFamily::kDense,
});

}  // namespace

}  // namespace cortado
