#include "layers/common/weights/normalize_form.h"

#include "core/error.h"
#include "core/text/text.h"

namespace cortado {

NormalizeForm normalize_form(const caffe::LayerParameter& config) {
  if (config.has_norm_param()) {
    if (config.has_normalize_param())
      throw FieldError("normalize_param", "norm_param is set as well", "set one of them");
    if (const float eps = config.norm_param().eps(); !(eps > 0))
      throw FieldError("norm_param.eps", "it is " + to_text(eps) + ", but must be above 0",
                       "set a small positive eps: it avoids division by 0");
    return {config.norm_param(), true, false};
  }
  const caffe::VectorNormParameter& param = config.normalize_param();
  if (param.normalize_type() != "L2" && param.normalize_type() != "L1")
    throw FieldError("normalize_param.normalize_type", "it is '" + param.normalize_type() + "', but must be L2 or L1");
  if (param.fix_gradient()) throw FieldError("normalize_param.fix_gradient", "true is not supported", "set false");
  caffe::NormalizeParameter options;
  options.set_across_spatial(false);
  options.set_eps(1e-12f);
  return {options, false, param.normalize_type() == "L1"};
}

}  // namespace cortado
