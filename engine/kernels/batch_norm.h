#pragma once

// Batch normalization over the channel axis, with fused post-ops (kernels/post_ops.h):
//   y = activation(gamma * (x - mean) / sqrt(variance + eps) + beta + addend)
// mean and the biased variance are computed from the batch or passed in (inference, frozen statistics).
//
// Without an addend, backward recomputes the ReLU's mask from x. With one it needs y, or a mask with a bit per element
// from forward. The mask costs 1/16 or 1/32 of the traffic of y; devices use it. y costs no memory if the net keeps it
// anyway; the CPU uses it.

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/post_ops.h"
#include "kernels/running_average.h"

namespace cortado::kernels {

struct BatchNormRequest {
  TensorSpec x;  ///< N x C or N x C x any, of a float type; y, dx and dy have the same layout
  float eps = 1e-5f;
  bool given_statistics = false;  ///< mean and variance are inputs
  PostOps post = {};              ///< a sum adds `addend`, stored like x; affine: gamma and optionally beta
  bool backward = false;          ///< whether backward() will be called
  bool sums_given = false;   ///< forward reads BatchNormOperands::sums instead of x for its statistics. Devices only
  bool writes_map = false;   ///< forward writes BatchNormOperands::map instead of y. Without sum and activation
  bool maps_addend = false;  ///< forward applies addend_map to the addend
  bool two_dy = false;       ///< backward takes dy in two parts. Devices only: see batch_norm_fusions()

  int64_t channels() const { return x.shape[1]; }
};

/// Operands of one call. x, addend, y and their gradients have the request's type; statistics and weights are C floats
/// each.
struct BatchNormOperands {
  const void* x = nullptr;
  const void* addend = nullptr;       ///< forward only, if the request has a sum
  const float* addend_map = nullptr;  ///< 2 x C if maps_addend: factors, then offsets
  float* map = nullptr;               ///< the same for y from x; written by forward if writes_map
  void* y = nullptr;  ///< may alias the addend, or x without backward(). Backward reads it if the request adds before a
                      ///< ReLU without a mask
  void* mask = nullptr;          ///< null or mask_bytes(); written by forward, read by backward
  const float* sums = nullptr;   ///< 2 x C if sums_given: sums of x and of its squares
  float* mean = nullptr;         ///< written by forward unless given; read by backward
  float* variance = nullptr;     ///< biased; as mean
  const float* gamma = nullptr;  ///< null unless affine
  const float* beta = nullptr;   ///< null: zero
  const void* dy = nullptr;
  const void* more_dy = nullptr;  ///< added to dy if two_dy
  void* dx = nullptr;             ///< null: not requested. May alias dy unless daddend is requested
  void* daddend = nullptr;        ///< null: not requested. May alias dy
  float* dgamma = nullptr;        ///< null: not requested
  float* dbeta = nullptr;         ///< null: not requested
  bool add_dgamma = false, add_dbeta = false;
  void* scratch = nullptr;      ///< forward_scratch() or backward_scratch() bytes
  RunningAverage average = {};  ///< updated by forward if keeps_average()
};

class BatchNorm {
 public:
  virtual ~BatchNorm() = default;
  virtual std::string name() const = 0;
  virtual int64_t forward_scratch() const { return 0; }
  virtual int64_t backward_scratch() const { return 0; }
  /// Size of the mask; 0 if backward() does not need one.
  virtual int64_t mask_bytes() const { return 0; }
  /// Whether backward() should get a mask even if y is kept, because it reads less.
  virtual bool needs_mask() const { return false; }
  virtual void forward(Context& context, const BatchNormOperands& io) = 0;
  virtual void backward(Context& context, const BatchNormOperands& io) = 0;
  /// Whether forward() updates BatchNormOperands::average itself.
  virtual bool keeps_average() const { return false; }
};

/// The fusions with neighbouring layers that batch normalization supports in training on a context's device.
struct BatchNormFusions {
  bool gradients = false;   ///< sums two gradients of y: BatchNormRequest::two_dy
  bool statistics = false;  ///< uses sums from a convolution: BatchNormRequest::sums_given
  bool maps = false;        ///< leaves the normalization to a sum that reads y: BatchNormRequest::writes_map

  bool operator==(const BatchNormFusions&) const = default;
};
BatchNormFusions batch_norm_fusions(const Context& context);

/// Returns the first candidate that accepts. There is one of our own for the CPU and one for devices. CPU: it reads
/// memory and synchronizes threads once, oneDNN 2.6 two or three times. At all shapes of ResNet-50 it was 1.1 to 1.8
/// times as fast in blocks, and 4 times or more in the plain layout. Devices: cuDNN returns 1 / std instead of the
/// variance and needs y for a ReLU.
std::unique_ptr<BatchNorm> plan_batch_norm(const BatchNormRequest& request, Context& context,
                                           std::string* refused = nullptr);

std::unique_ptr<BatchNorm> make_batch_norm_native(const BatchNormRequest& request, Context& context, std::string& why);
std::unique_ptr<BatchNorm> make_batch_norm_generic(const BatchNormRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
