#pragma once

#include <string>

#include "proto/cortado.pb.h"

namespace cortado {

/// Whose BN a bn_param describes, by the fields that it has. Two forks gave two layers this name.
enum class BnForm {
  kRunning,  ///< yjxiong's, which PSPNet has: slope, bias, running mean and variance. Also where no field tells
  kBatch,    ///< SegNet's, LEARN: scale and shift, always with the statistics of the batch
  kStored,   ///< SegNet's, INFERENCE: scale and shift alone, into which the statistics were folded
};

inline bool is_bn(const std::string& type) { return type == "BN" || type == "SyncBN"; }

inline BnForm form_of(const caffe::BNParameter& bn) {
  if (!bn.has_scale_filler() && !bn.has_shift_filler() && !bn.has_bn_mode()) return BnForm::kRunning;
  return bn.bn_mode() == caffe::BNParameter::INFERENCE ? BnForm::kStored : BnForm::kBatch;
}

}  // namespace cortado
