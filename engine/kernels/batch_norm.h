#pragma once

// Batch normalisation over the channel axis, and what may be done behind it in the same pass (kernels/post_ops.h):
//   y = activation(gamma * (x - mean) / sqrt(variance + eps) + beta + addend)
// mean and the biased variance are the batch's own, or given (inference, frozen statistics).
//
// Without an addend backward finds out from x where the ReLU let it pass. With one it needs y, or a bit for each
// element that forward kept. Bits move a 16th or 32nd of what y does, which devices take; y costs no memory where the
// net keeps it anyway, which the CPU takes.

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/post_ops.h"
#include "kernels/running_average.h"

namespace cortado::kernels {

struct BatchNormRequest {
  TensorSpec x;  ///< N x C, or N x C x anything, of a float type; y, dx and dy are stored alike
  float eps = 1e-5f;
  bool given_statistics = false;  ///< mean and variance are inputs, not results
  PostOps post = {};              ///< a sum is with `addend`, stored as x is; affine: gamma and perhaps beta
  bool backward = false;          ///< backward() will be called
  bool sums_given = false;        ///< forward need not read x for its statistics. Likewise on devices alone
  bool writes_map = false;        ///< forward makes no y, but BatchNormOperands::map. Without a sum and an activation
  bool maps_addend = false;       ///< the addend is to be mapped first
  bool two_dy = false;            ///< and takes dy in two parts. On devices alone, as batch_norm_fusions() says

  int64_t channels() const { return x.shape[1]; }
};

/// Memory of one call: x, addend, y and their gradients are of the request's type, the statistics and the weights C
/// floats each.
struct BatchNormOperands {
  const void* x = nullptr;
  const void* addend = nullptr;       ///< forward only, where the request adds
  const float* addend_map = nullptr;  ///< 2 x C, where the request maps it: factors, then terms
  float* map = nullptr;               ///< likewise, of y from x; written by forward, where the request wants it
  void* y = nullptr;             ///< may be the addend's memory, or x's where no backward() follows. Backward reads it
                                 ///< where the request adds before a ReLU and there is no mask
  void* mask = nullptr;          ///< null, or mask_bytes(): written by forward, read by backward
  const float* sums = nullptr;   ///< 2 x C, where given: of x, and of its squares
  float* mean = nullptr;         ///< written by forward unless given; read by backward
  float* variance = nullptr;     ///< biased; likewise
  const float* gamma = nullptr;  ///< null unless affine
  const float* beta = nullptr;   ///< may be null when affine: zero
  const void* dy = nullptr;
  const void* more_dy = nullptr;  ///< added to dy, where the request has two
  void* dx = nullptr;             ///< null: not wanted. May be dy's memory unless daddend is wanted
  void* daddend = nullptr;        ///< null: not wanted. May be dy's memory
  float* dgamma = nullptr;        ///< null: not wanted
  float* dbeta = nullptr;         ///< null: not wanted
  bool add_dgamma = false, add_dbeta = false;
  void* scratch = nullptr;      ///< forward_scratch() or backward_scratch() bytes
  RunningAverage average = {};  ///< forward adds the batch's statistics, where it keeps_average()
};

class BatchNorm {
 public:
  virtual ~BatchNorm() = default;
  virtual std::string name() const = 0;
  virtual int64_t forward_scratch() const { return 0; }
  virtual int64_t backward_scratch() const { return 0; }
  /// What the mask takes; 0: backward() needs none.
  virtual int64_t mask_bytes() const { return 0; }
  /// Whether backward() wants it even where y is kept anyway: it reads less so.
  virtual bool needs_mask() const { return false; }
  virtual void forward(Context& context, const BatchNormOperands& io) = 0;
  virtual void backward(Context& context, const BatchNormOperands& io) = 0;
  /// Whether forward() adds to BatchNormOperands::average what it finds, so that nobody else has to.
  virtual bool keeps_average() const { return false; }
};

/// What normalisation takes over from its neighbours in training on a context's device.
struct BatchNormFusions {
  bool gradients = false;   ///< the sum of two gradients of y: BatchNormRequest::two_dy
  bool statistics = false;  ///< sums that a convolution finds, from it: BatchNormRequest::sums_given
  bool maps = false;        ///< leaving its result to a sum that reads it: BatchNormRequest::writes_map

  bool operator==(const BatchNormFusions&) const = default;
};
BatchNormFusions batch_norm_fusions(const Context& context);

/// The first candidate that accepts. On the CPU there is only our own: it reads memory once and meets once where
/// oneDNN 2.6 does both twice or thrice, so it was faster at every shape of ResNet-50 in blocks (1.1 to 1.8 times)
/// and plain (4 times up). On devices, too: cuDNN's gives 1 / std instead of the variance and wants y for a ReLU.
std::unique_ptr<BatchNorm> plan_batch_norm(const BatchNormRequest& request, Context& context,
                                           std::string* refused = nullptr);

std::unique_ptr<BatchNorm> make_batch_norm_native(const BatchNormRequest& request, Context& context, std::string& why);
std::unique_ptr<BatchNorm> make_batch_norm_generic(const BatchNormRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
