#pragma once

// Graphs of convolutions with fusions for cuDNN, whether or not a kernel uses them yet.

#include <string>
#include <vector>

#include "kernels/cuda/cudnn_graph.h"

namespace cortado::kernels::cudnn {

enum class Fusion {
  kRelu,           ///< y = relu(x * w)
  kSum,            ///< y = x * w + z
  kSumRelu,        ///< y = relu(x * w + z)
  kBiasRelu,       ///< y = relu(x * w + b)
  kAffineRelu,     ///< y = relu(a (x * w) + b)
  kStatistics,     ///< y = x * w and, per channel, the sums of y and y^2
  kOnStatistics,   ///< kStatistics of relu(a x + b) * w
  kDataSum,        ///< dx = dy * w + z
  kDataRelu,       ///< dx = dy * w where x > 0
  kDataSumRelu,    ///< dx = dy * w + z where x > 0
  kAffineWeights,  ///< dw = relu(a x + b) * dy
};

inline constexpr Fusion kAllFusions[] = {Fusion::kRelu,         Fusion::kSum,          Fusion::kSumRelu,
                                         Fusion::kBiasRelu,     Fusion::kAffineRelu,   Fusion::kStatistics,
                                         Fusion::kOnStatistics, Fusion::kDataSum,      Fusion::kDataRelu,
                                         Fusion::kDataSumRelu,  Fusion::kAffineWeights};

inline std::string name_of(Fusion fusion) {
  constexpr const char* kNames[] = {"conv+relu",
                                    "conv+sum",
                                    "conv+sum+relu",
                                    "conv+bias+relu",
                                    "conv+scale+bias+relu",
                                    "conv+statistics",
                                    "scale+bias+relu+conv+statistics",
                                    "dgrad+sum",
                                    "dgrad+drelu",
                                    "dgrad+sum+drelu",
                                    "scale+bias+relu+wgrad"};
  return kNames[int(fusion)];
}

/// A 2-D convolution, channels last, with a fusion.
class FusedGraph {
 public:
  struct Shape {
    int64_t n, channels, size, filters, kernel, stride;
  };

  FusedGraph(const Shape& s, cudnnDataType_t type) : s_(s), type_(type) {
    const int64_t pad = s.kernel / 2, out = (s.size + 2 * pad - s.kernel) / s.stride + 1;
    window_ = {{pad, pad}, {s.stride, s.stride}, {1, 1}};
    x_ = {s.n, s.channels, s.size, s.size};
    w_ = {s.filters, s.channels, s.kernel, s.kernel};
    y_ = {s.n, s.filters, out, out};
  }

  Graph make(Fusion fusion) {
    switch (fusion) {
      case Fusion::kRelu:
        relu(forward(value(x_)), y_, false);
        break;
      case Fusion::kSum:
        sum(forward(value(x_)), y_, false);
        break;
      case Fusion::kSumRelu:
        relu(sum(forward(value(x_)), y_, true), y_, false);
        break;
      case Fusion::kBiasRelu:
        relu(per_channel(forward(value(x_)), y_, CUDNN_POINTWISE_ADD), y_, false);
        break;
      case Fusion::kAffineRelu:
        affine_relu(forward(value(x_)), y_, false);
        break;
      case Fusion::kStatistics:
        statistics(forward(value(x_), false));
        break;
      case Fusion::kOnStatistics:
        statistics(forward(affine_relu(value(x_), x_, true), false));
        break;
      case Fusion::kDataSum:
        sum(data(), x_, false);
        break;
      case Fusion::kDataRelu:
        passes_where_positive(data());
        break;
      case Fusion::kDataSumRelu:
        passes_where_positive(sum(data(), x_, true));
        break;
      case Fusion::kAffineWeights:
        graph_.convolve(Graph::Conv::kWeights, window_, affine_relu(value(x_), x_, true), value(w_), value(y_));
        break;
    }
    return std::move(graph_);
  }

 private:
  using Dims = std::vector<int64_t>;

  GraphTensor value(const Dims& dims) { return named(dims, type_, false); }
  GraphTensor between(const Dims& dims) { return named(dims, CUDNN_DATA_FLOAT, true); }
  GraphTensor named(const Dims& d, cudnnDataType_t type, bool inner) {
    return {++last_id_, d, {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]}, type, inner};
  }

  GraphTensor forward(const GraphTensor& x, bool inner = true) {
    const GraphTensor y = inner ? between(y_) : value(y_);
    graph_.convolve(Graph::Conv::kForward, window_, x, value(w_), y);
    return y;
  }
  GraphTensor data() {
    const GraphTensor dx = between(x_);
    graph_.convolve(Graph::Conv::kData, window_, dx, value(w_), value(y_));
    return dx;
  }
  GraphTensor relu(const GraphTensor& x, const Dims& dims, bool inner) {
    const GraphTensor y = inner ? between(dims) : value(dims);
    graph_.activate(x, y, Activation::relu());
    return y;
  }
  GraphTensor sum(const GraphTensor& x, const Dims& dims, bool inner) {
    const GraphTensor y = inner ? between(dims) : value(dims);
    graph_.add(x, value(dims), y);
    return y;
  }
  /// A tensor with one number per channel.
  GraphTensor per_channel(const GraphTensor& x, const Dims& dims, cudnnPointwiseMode_t mode) {
    const GraphTensor y = between(dims), numbers = value({1, dims[1], 1, 1});
    pointwise(mode, {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x},
                     {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, numbers},
                     {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
    return y;
  }
  GraphTensor affine_relu(const GraphTensor& x, const Dims& dims, bool inner) {
    const GraphTensor scaled = per_channel(x, dims, CUDNN_POINTWISE_MUL);
    return relu(per_channel(scaled, dims, CUDNN_POINTWISE_ADD), dims, inner);
  }
  void passes_where_positive(const GraphTensor& dy) {
    pointwise(CUDNN_POINTWISE_RELU_BWD, {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, value(x_)},
                                         {CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, dy},
                                         {CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, value(x_)}});
  }

  struct Operand {
    cudnnBackendAttributeName_t name;
    GraphTensor tensor;
  };
  void pointwise(cudnnPointwiseMode_t mode, const std::vector<Operand>& operands) {
    Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    kind.finalize();
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
    for (const Operand& operand : operands) operation.set(operand.name, graph_.tensor(operand.tensor));
    operation.finalize();
    parts_.push_back(std::move(kind));
    graph_.append(std::move(operation));
  }

  void statistics(const GraphTensor& y) {
    const GraphTensor sums = named({1, s_.filters, 1, 1}, CUDNN_DATA_FLOAT, false),
                      squares = named({1, s_.filters, 1, 1}, CUDNN_DATA_FLOAT, false);
    graph_.sum_channels(y, sums, squares);
  }

  Shape s_;
  cudnnDataType_t type_;
  GraphWindow window_;
  Dims x_, w_, y_;
  Graph graph_;
  std::vector<Descriptor> parts_;
  int64_t last_id_ = 0;
};

}  // namespace cortado::kernels::cudnn
