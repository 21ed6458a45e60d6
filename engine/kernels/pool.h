#pragma once

// Pooling over windows of the last two axes of N x C x H x W: the largest value, or the average. What a window's
// average is divided by is Caffe's: its area after clipping to the padded image, so padding counts as zeros and the
// part that hangs over the padding (outputs are rounded up) does not.

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

struct PoolRequest {
  TensorSpec x, y;            ///< the same type and layout; 8-bit integers: maxima only, forward, channels last
  bool average = false;       ///< else the largest value; of equal ones the first in scan order
  bool count_padding = true;  ///< padding counts in an average's divisor
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  bool backward = false;  ///< backward() will be called
  bool argmax = false;    ///< forward also gives places; plain layout only
};

class Pool {
 public:
  virtual ~Pool() = default;
  virtual std::string name() const = 0;
  virtual int64_t saved_bytes() const { return 0; }  ///< kept from forward to backward
  virtual int64_t forward_scratch() const { return 0; }
  virtual int64_t backward_scratch() const { return 0; }
  /// `argmax` (null unless requested) gets h * W + w of each largest value, as floats, -1 for a window without any.
  virtual void forward(Context& context, const void* x, void* y, float* argmax, void* saved, void* scratch) = 0;
  /// Overwrites dx. dy may be null if argmax was requested: no gradient arrives, dx becomes zero.
  virtual void backward(Context& context, const void* dy, void* dx, const void* saved, void* scratch) = 0;
};

/// The first candidate that accepts: our own in blocks (maxima 1.3 to 7 times as fast as oneDNN 2.6, averages up to 5
/// times), elsewhere and for averages that move by one place oneDNN, where its windows mean the same. `refused`
/// collects the reasons. On devices there is only our own: cuDNN's backward wants x and y, which need not be kept
/// here.
std::unique_ptr<Pool> plan_pool(const PoolRequest& request, Context& context, std::string* refused = nullptr);

std::unique_ptr<Pool> make_pool_onednn(const PoolRequest& request, Context& context, std::string& why);
std::unique_ptr<Pool> make_pool_bytes(const PoolRequest& request, Context& context, std::string& why);
std::unique_ptr<Pool> make_pool_native(const PoolRequest& request, Context& context, std::string& why);
std::unique_ptr<Pool> make_pool_generic(const PoolRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
