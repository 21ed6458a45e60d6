#include "layers/loss_normalizer.h"

namespace cortado {

float fixed_normalizer(const caffe::LossParameter& options, caffe::LossParameter::NormalizationMode unless_told,
                       int64_t all, int64_t batch, float counted) {
  using Loss = caffe::LossParameter;
  Loss::NormalizationMode mode = options.has_normalization() ? options.normalization() : unless_told;
  if (!options.has_normalization() && options.has_normalize())
    mode = options.normalize() ? Loss::VALID : Loss::BATCH_SIZE;
  switch (mode) {
    case Loss::FULL:
      return float(all);
    case Loss::BATCH_SIZE:
      return float(batch);
    case Loss::NONE:
      return 1;
    case Loss::PRE_FIXED:
      return options.pre_fixed_normalizer();
    default:
      return counted;
  }
}

}  // namespace cortado
