#pragma once

// The learned scale and bias after a normalization: two weights of one shape, the scale first. The default initial
// values are 1 and 0.

#include <string>

#include "layers/layer.h"

namespace cortado {

/// The common options of layer_norm_param, group_norm_param and instance_norm_param.
struct NormOptions {
  std::string field;  ///< the name of the options message
  float eps;
  bool affine;
  const caffe::FillerParameter *scale_filler, *bias_filler;  ///< null: not set. Must outlive the layer
};

template <typename Message>
NormOptions norm_options(const Message& message, const std::string& field) {
  return {field, message.eps(), message.affine(), message.has_scale_filler() ? &message.scale_filler() : nullptr,
          message.has_bias_filler() ? &message.bias_filler() : nullptr};
}

/// Throws FieldError for an invalid eps and for fillers without weights.
void check_norm(const NormOptions& options);

/// Appends both weights to shapes.w, if the layer has them. Throws FieldError.
void add_affine_weights(LayerShapes& shapes, const Shape& shape, const NormOptions& options);

}  // namespace cortado
