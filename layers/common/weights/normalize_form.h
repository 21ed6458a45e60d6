#pragma once

#include "proto/cortado.pb.h"

namespace cortado {

/// What a Normalize computes, by its options. SSD's is one with norm_param. Without, it is that of NormFace and of
/// person_search: no scale, and the norm of the channels at each position.
struct NormalizeForm {
  caffe::NormalizeParameter options;
  bool scales;    ///< has a learned scale
  bool absolute;  ///< the norm is L1
};

/// Throws FieldError.
NormalizeForm normalize_form(const caffe::LayerParameter& config);

}  // namespace cortado
