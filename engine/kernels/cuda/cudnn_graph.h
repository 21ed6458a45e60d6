#pragma once

// cuDNN 9's backend joins operations on tensors into a graph. This is the little of it that the candidates need:
// convolutions, and what is done to each value before or behind one.

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn_descriptor.h"
#include "kernels/post_ops.h"

namespace cortado::kernels::cudnn {

/// A tensor of a graph: the same id in two operations is the same values.
struct GraphTensor {
  int64_t id = 0;
  std::vector<int64_t> shape, strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool inner = false;  ///< between two operations: it has no memory
};

struct GraphWindow {
  std::vector<int64_t> pad, stride, dilation;
};

/// Copies share what they hold: a graph is not changed once it was ranked.
class Graph {
 public:
  enum class Conv { kForward, kData, kWeights };

  /// y = factor * (x * w), or dx of dy * w, or dw of x * dy, computed in 32-bit floats and rounded when it is stored.
  /// `x`, `w`, `y` may be their gradients.
  void convolve(Conv direction, const GraphWindow& window, const GraphTensor& x, const GraphTensor& w,
                const GraphTensor& y, float factor = 1);
  /// y = x + b, where b may be spread over y; y = activation(x).
  void add(const GraphTensor& x, const GraphTensor& b, const GraphTensor& y);
  void activate(const GraphTensor& x, const GraphTensor& y, const Activation& activation);

  /// Per channel, in 32-bit floats: sums = the sum of x, squares = that of its squares.
  void sum_channels(const GraphTensor& x, const GraphTensor& sums, const GraphTensor& squares);

  /// Any other: an operation that is complete and refers to tensors by tensor().
  void append(Descriptor operation) { operations_.push_back(std::move(operation)); }
  const Descriptor& tensor(const GraphTensor& tensor);

  const std::vector<Descriptor>& operations() const { return operations_; }

 private:
  /// One operation, whose `kind` wants its settings only.
  void pointwise(Descriptor kind, cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor* b,
                 const GraphTensor& y);

  std::vector<std::pair<int64_t, Descriptor>> tensors_;
  std::vector<Descriptor> operations_, parts_;
};

}  // namespace cortado::kernels::cudnn
