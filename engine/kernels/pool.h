#pragma once

// Pooling over windows of the last two axes of N x C x H x W: maximum or average. The divisor of an average is Caffe's:
// the window's area clipped to the padded image. Padding counts as zeros; the part beyond the padding (outputs are
// rounded up) does not count.

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

struct PoolRequest {
  TensorSpec x, y;            ///< same type and layout; 8-bit integers: only maximum, forward, channels last
  bool average = false;       ///< else the maximum; of equal values the first in scan order
  bool count_padding = true;  ///< include padding in an average's divisor
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  bool backward = false;  ///< whether backward() will be called
  bool argmax = false;    ///< forward also writes positions; plain layout only
};

class Pool {
 public:
  virtual ~Pool() = default;
  virtual std::string name() const = 0;
  virtual int64_t saved_bytes() const { return 0; }  ///< kept from forward to backward
  virtual int64_t forward_scratch() const { return 0; }
  virtual int64_t backward_scratch() const { return 0; }
  /// `argmax` (null unless requested) receives h * W + w of each maximum as a float, or -1 for an empty window.
  virtual void forward(Context& context, const void* x, void* y, float* argmax, void* saved, void* scratch) = 0;
  /// Overwrites dx. dy may be null if argmax was requested: without a gradient dx becomes zero.
  virtual void backward(Context& context, const void* dy, void* dx, const void* saved, void* scratch) = 0;
};

/// Returns the first candidate that accepts. In blocks that is our own (maximum 1.3 to 7 times as fast as oneDNN 2.6,
/// average up to 5 times), except averages with stride 1. Those and other layouts use oneDNN if its window semantics
/// match. `refused` collects the reasons. Devices use our own: cuDNN's backward needs x and y, which need not be kept
/// here.
std::unique_ptr<Pool> plan_pool(const PoolRequest& request, Context& context, std::string* refused = nullptr);

std::unique_ptr<Pool> make_pool_onednn(const PoolRequest& request, Context& context, std::string& why);
std::unique_ptr<Pool> make_pool_bytes(const PoolRequest& request, Context& context, std::string& why);
std::unique_ptr<Pool> make_pool_native(const PoolRequest& request, Context& context, std::string& why);
std::unique_ptr<Pool> make_pool_generic(const PoolRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
