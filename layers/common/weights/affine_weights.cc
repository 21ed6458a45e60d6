#include "layers/common/weights/affine_weights.h"

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/weights/filler.h"

namespace cortado {

void check_norm(const NormOptions& options) {
  if (!(options.eps > 0))
    throw FieldError(options.field + ".eps", "it is " + to_text(options.eps) + ", but must be above 0",
                     "set a small value, for example 1e-5: it avoids a division by 0");
  if (!options.affine && (options.scale_filler || options.bias_filler))
    throw FieldError(options.field + (options.scale_filler ? ".scale_filler" : ".bias_filler"),
                     "a filler has no effect without affine", "set affine: true, or remove the filler");
}

void add_affine_weights(LayerShapes& shapes, const Shape& shape, const NormOptions& options) {
  if (!options.affine) return;
  caffe::FillerParameter ones, zeros;
  ones.set_value(1);
  const caffe::FillerParameter& scale = options.scale_filler ? *options.scale_filler : ones;
  const caffe::FillerParameter& bias = options.bias_filler ? *options.bias_filler : zeros;
  shapes.w.push_back(filled_weight(scale, shape, options.field + ".scale_filler"));
  shapes.w.push_back(filled_weight(bias, shape, options.field + ".bias_filler"));
}

}  // namespace cortado
