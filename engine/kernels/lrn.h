#pragma once

// Local response normalisation: y = x / s^beta with s = k + alpha / size * (sum of x^2 over `size` neighbouring
// channels), or s = 1 + alpha / size^2 * (sum over the size x size places around), zeros outside. Backward, with t =
// dy y / s: dx = dy / s^beta - 2 alpha' beta x (sum of t over the same neighbours), where alpha' is alpha with its
// divisor.

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

struct LrnRequest {
  /// N x C x H x W of a float type, plain, blocked16 (CPU) or channels-last (devices), as y, dy and dx are.
  TensorSpec x;
  bool within_channel = false;
  int64_t size = 5;  ///< odd
  float alpha = 1, beta = 0.75f, k = 1;
  bool backward = false;  ///< backward() will be called
};

class Lrn {
 public:
  virtual ~Lrn() = default;
  virtual std::string name() const = 0;
  virtual int64_t forward_scratch() const { return 0; }
  virtual int64_t backward_scratch() const { return 0; }
  virtual void forward(Context& context, const void* x, void* y, void* scratch) = 0;
  /// Overwrites dx.
  virtual void backward(Context& context, const void* x, const void* dy, void* dx, void* scratch) = 0;
};

/// The first candidate that accepts. On the CPU there is only our own: oneDNN 2.6 keeps twice the size of x for
/// backward, took 1.1 to 1.6 times as long for both directions together in blocks, and has no compiled backward for
/// plain storage. On devices, too: cuDNN's backward wants y, which need not be kept here.
std::unique_ptr<Lrn> plan_lrn(const LrnRequest& request, Context& context, std::string* refused = nullptr);

std::unique_ptr<Lrn> make_lrn_native(const LrnRequest& request, Context& context, std::string& why);
std::unique_ptr<Lrn> make_lrn_generic(const LrnRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
