#include "layers/common/losses/loss_normalizer.h"

namespace cortado {

namespace {

using Loss = caffe::LossParameter;

Loss::NormalizationMode mode_of(const Loss& options, Loss::NormalizationMode unless_told) {
  if (!options.has_normalization() && options.has_normalize())
    return options.normalize() ? Loss::VALID : Loss::BATCH_SIZE;
  return options.has_normalization() ? options.normalization() : unless_told;
}

}  // namespace

float fixed_normalizer(const Loss& options, Loss::NormalizationMode unless_told, int64_t all, int64_t batch,
                       float counted) {
  switch (mode_of(options, unless_told)) {
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

Ratio loss_quotient(const Loss& options, Loss::NormalizationMode unless_told, float fixed, const float* sums) {
  const Loss::NormalizationMode mode = mode_of(options, unless_told);
  if (mode == Loss::NONE || mode == Loss::PRE_FIXED) return {};
  return fixed > 0 ? Ratio{.fixed = fixed} : Ratio{.sums = sums};
}

}  // namespace cortado
