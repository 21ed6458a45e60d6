#pragma once

#include <string>

#include "proto/cortado.pb.h"

namespace cortado {

/// The variant of a BN layer, by the fields of its bn_param and its tops: several forks of Caffe have a layer of this
/// name.
enum class BnForm {
  kRunning,  ///< scale, shift, running mean and variance. The default if no field decides
  kBatch,    ///< scale and shift; always uses batch statistics
  kStored,   ///< scale and shift only, with the statistics folded into them
};

/// Whether it has fields, or tops, of SegNet's variant and no fields that only others have.
inline bool is_segnets(const caffe::LayerParameter& layer) {
  const caffe::BNParameter& bn = layer.bn_param();
  if (bn.has_bn_mode()) return true;
  const bool others = bn.has_slope_filler() || bn.has_bias_filler() || bn.has_momentum() || bn.has_frozen() ||
                      bn.has_moving_average() || bn.has_decay();
  return (bn.has_scale_filler() || bn.has_shift_filler() || layer.top_size() > 1) && !others;
}

inline BnForm form_of(const caffe::LayerParameter& layer) {
  const caffe::BNParameter& bn = layer.bn_param();
  if (bn.bn_mode() == caffe::BNParameter::INFERENCE) return BnForm::kStored;
  if (is_segnets(layer) || (bn.has_moving_average() && !bn.moving_average())) return BnForm::kBatch;
  return BnForm::kRunning;
}

}  // namespace cortado
