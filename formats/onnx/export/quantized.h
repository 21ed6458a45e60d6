#pragma once

// Nets with 8-bit scales (quantization_param) as QuantizeLinear and DequantizeLinear around the layers that compute on
// integers. Programs merge these into operators on integers.

#include <string>
#include <vector>

#include "core/tensor.h"
#include "onnx/schema.h"
#include "proto/cortado.pb.h"

namespace cortado::exporting {

/// A layer that computes on integers. BatchNorm, Scale and Bias after it are folded into its weights, as its scales
/// assume.
struct EightBitLayer {
  std::string name;
  caffe::QuantizationParameter scales;
  Encoding x;
  Encoding y;          ///< of its result after what is fused with it; floats if readers need them
  std::string y_name;  ///< the value with that result
};

/// Rewrites the products (Conv, Gemm, MatMul) of these layers. Nodes must be in topological order.
void quantize(onnx::GraphProto& graph, const std::vector<EightBitLayer>& layers);

}  // namespace cortado::exporting
