#pragma once

// Local response normalization: y = x / s^beta with s = k + alpha / size * (sum of x^2 over `size` neighbouring
// channels), or s = 1 + alpha / size^2 * (sum over the surrounding size x size positions), zero-padded. Backward, with
// t = dy y / s: dx = dy / s^beta - 2 alpha' beta x (sum of t over the same neighbours), where alpha' is alpha with its
// divisor.

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

struct LrnRequest {
  /// N x C x H x W of a float type; plain, blocked16 (CPU) or channels-last (devices). y, dy and dx are the same.
  TensorSpec x;
  bool within_channel = false;
  int64_t size = 5;  ///< odd
  float alpha = 1, beta = 0.75f, k = 1;
  bool backward = false;  ///< whether backward() will be called
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

/// Returns the first candidate that accepts. There is one of our own for the CPU and one for devices. CPU: oneDNN 2.6
/// keeps twice the size of x for backward, took 1.1 to 1.6 times as long for both directions in blocks, and has only a
/// reference backward for the plain layout. Devices: cuDNN's backward needs y, which need not be kept here.
std::unique_ptr<Lrn> plan_lrn(const LrnRequest& request, Context& context, std::string* refused = nullptr);

std::unique_ptr<Lrn> make_lrn_native(const LrnRequest& request, Context& context, std::string& why);
std::unique_ptr<Lrn> make_lrn_generic(const LrnRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
