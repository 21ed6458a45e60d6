#include "kernels/cuda/cudnn_graph.h"

namespace cortado::kernels::cudnn {

namespace {

Descriptor window_descriptor(const GraphWindow& window) {
  Descriptor conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t(window.pad.size()));
  conv.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, window.pad);
  conv.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, window.pad);
  conv.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, window.stride);
  conv.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, window.dilation);
  conv.finalize();
  return conv;
}

/// The backend's names of a convolution's parts in one direction.
struct ConvNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t window, x, w, y, alpha, beta;
};

ConvNames names_of(Graph::Conv direction) {
  switch (direction) {
    case Graph::Conv::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Graph::Conv::kData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

}  // namespace

const Descriptor& Graph::tensor(const GraphTensor& t) {
  for (const auto& [id, descriptor] : tensors_)
    if (id == t.id) return descriptor;
  constexpr int64_t kAlignment = 16;  // required by the fastest engines; every operand has it
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, t.id);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, t.type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, t.shape);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, t.strides);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, t.inner);
  made.finalize();
  tensors_.emplace_back(t.id, std::move(made));
  return tensors_.back().second;
}

void Graph::convolve(Conv direction, const GraphWindow& window, const GraphTensor& x, const GraphTensor& w,
                     const GraphTensor& y, float factor) {
  const ConvNames names = names_of(direction);
  parts_.push_back(window_descriptor(window));
  Descriptor operation(names.operation);
  operation.set(names.window, parts_.back());
  operation.set(names.x, tensor(x));
  operation.set(names.w, tensor(w));
  operation.set(names.y, tensor(y));
  operation.set(names.alpha, factor);
  operation.set(names.beta, 0.0f);
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void Graph::pointwise(Descriptor kind, cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor* b,
                      const GraphTensor& y) {
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  kind.finalize();
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(x));
  if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor(*b));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(y));
  operation.finalize();
  parts_.push_back(std::move(kind));
  operations_.push_back(std::move(operation));
}

void Graph::add(const GraphTensor& x, const GraphTensor& b, const GraphTensor& y) {
  pointwise(Descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), CUDNN_POINTWISE_ADD, x, &b, y);
}

void Graph::sum_channels(const GraphTensor& x, const GraphTensor& sums, const GraphTensor& squares) {
  const cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
  Descriptor operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, &mode);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, tensor(x));
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, tensor(sums));
  operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, tensor(squares));
  operation.finalize();
  operations_.push_back(std::move(operation));
}

namespace {

cudnnPointwiseMode_t mode_of(const Activation& activation) {
  switch (activation.kind) {
    case Activation::kNone:
      return CUDNN_POINTWISE_IDENTITY;
    case Activation::kRelu:
    case Activation::kClippedRelu:
      return CUDNN_POINTWISE_RELU_FWD;
    case Activation::kSigmoid:
      return CUDNN_POINTWISE_SIGMOID_FWD;
    case Activation::kSwish:
      return CUDNN_POINTWISE_SWISH_FWD;
    case Activation::kGelu:
      return CUDNN_POINTWISE_GELU_FWD;
  }
  return CUDNN_POINTWISE_IDENTITY;
}

}  // namespace

void Graph::activate(const GraphTensor& x, const GraphTensor& y, const Activation& activation) {
  Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  const cudnnNanPropagation_t keep = CUDNN_PROPAGATE_NAN;  // a ReLU must not hide NaN
  kind.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &keep);
  const double most = activation.ceiling;
  if (activation.kind == Activation::kClippedRelu)
    kind.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, 1, &most);
  pointwise(std::move(kind), mode_of(activation), x, nullptr, y);
}

}  // namespace cortado::kernels::cudnn
