#pragma once

// Operation graphs of cuDNN 9's backend, as far as the candidates need them: convolutions, with pointwise operations
// before or after them.

#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn_descriptor.h"
#include "kernels/post_ops.h"

namespace cortado::kernels::cudnn {

/// A tensor of a graph. Equal ids in two operations mean the same values.
struct GraphTensor {
  int64_t id = 0;
  std::vector<int64_t> shape, strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool inner = false;  ///< between two operations, without memory
};

struct GraphWindow {
  std::vector<int64_t> pad, stride, dilation;
};

/// Copies share their content: do not change a graph after it was ranked.
class Graph {
 public:
  enum class Conv { kForward, kData, kWeights };

  /// y = factor * (x * w), or dx from dy * w, or dw from x * dy, computed in 32-bit floats and rounded when stored.
  /// `x`, `w`, `y` may be their gradients.
  void convolve(Conv direction, const GraphWindow& window, const GraphTensor& x, const GraphTensor& w,
                const GraphTensor& y, float factor = 1);
  /// y = x + b, where b may be broadcast; y = activation(x).
  void add(const GraphTensor& x, const GraphTensor& b, const GraphTensor& y);
  void activate(const GraphTensor& x, const GraphTensor& y, const Activation& activation);

  /// Per channel, in 32-bit floats: sums = the sum of x, squares = the sum of its squares.
  void sum_channels(const GraphTensor& x, const GraphTensor& sums, const GraphTensor& squares);

  /// Appends any other complete operation, which refers to tensors by tensor().
  void append(Descriptor operation) { operations_.push_back(std::move(operation)); }
  const Descriptor& tensor(const GraphTensor& tensor);

  const std::vector<Descriptor>& operations() const { return operations_; }

 private:
  /// Appends a pointwise operation; `kind` needs only its settings.
  void pointwise(Descriptor kind, cudnnPointwiseMode_t mode, const GraphTensor& x, const GraphTensor* b,
                 const GraphTensor& y);

  std::vector<std::pair<int64_t, Descriptor>> tensors_;
  std::vector<Descriptor> operations_, parts_;
};

}  // namespace cortado::kernels::cudnn
