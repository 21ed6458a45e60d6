#pragma once

// The learned factors and terms behind a normalization: two weights of one shape, factors first, that start as 1 and 0
// where the file has no fillers.

#include <string>

#include "layers/layer.h"

namespace cortado {

/// What layer_norm_param, group_norm_param and instance_norm_param have in common.
struct NormOptions {
  std::string field;  ///< the message's name, for messages
  float eps;
  bool affine;
  const caffe::FillerParameter *scale_filler, *bias_filler;  ///< null: not set. They outlive the layer
};

template <typename Message>
NormOptions norm_options(const Message& message, const std::string& field) {
  return {field, message.eps(), message.affine(), message.has_scale_filler() ? &message.scale_filler() : nullptr,
          message.has_bias_filler() ? &message.bias_filler() : nullptr};
}

/// Throws FieldError for an eps that divides by 0 and for fillers without weights.
void check_norm(const NormOptions& options);

/// Appends both weights to shapes.w where there are any. Throws FieldError.
void add_affine_weights(LayerShapes& shapes, const Shape& shape, const NormOptions& options);

}  // namespace cortado
