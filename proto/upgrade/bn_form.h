#pragma once

#include <string>

#include "proto/cortado.pb.h"

namespace cortado {

/// How a BN works, told by the fields of its bn_param: several forks gave their layers this name.
enum class BnForm {
  kRunning,  ///< factors, terms, running mean and variance. Also where no field tells
  kBatch,    ///< factors and terms; always with the statistics of the batch
  kStored,   ///< factors and terms alone, into which the statistics were folded
};

/// Whether it has SegNet's fields and none of those that only others have.
inline bool is_segnets(const caffe::BNParameter& bn) {
  if (bn.has_bn_mode()) return true;
  const bool others = bn.has_slope_filler() || bn.has_bias_filler() || bn.has_momentum() || bn.has_frozen() ||
                      bn.has_moving_average() || bn.has_decay();
  return (bn.has_scale_filler() || bn.has_shift_filler()) && !others;
}

inline BnForm form_of(const caffe::BNParameter& bn) {
  if (bn.bn_mode() == caffe::BNParameter::INFERENCE) return BnForm::kStored;
  if (is_segnets(bn) || (bn.has_moving_average() && !bn.moving_average())) return BnForm::kBatch;
  return BnForm::kRunning;
}

}  // namespace cortado
