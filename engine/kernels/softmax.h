#pragma once

// y = e^x / sum of e^x along the middle axis of outer x classes x inner, row-major. The maximum of x is subtracted
// first to prevent overflow. Backward: dx = y (dy - sum of y dy).

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

struct SoftmaxRequest {
  int64_t outer = 1, classes = 1, inner = 1;
  bool backward = false;      ///< whether backward() will be called
  DType dtype = DType::kF32;  ///< float type of all operands; accumulation is in 32 bits
};

class Softmax {
 public:
  virtual ~Softmax() = default;
  virtual std::string name() const = 0;
  virtual int64_t forward_scratch() const { return 0; }
  virtual int64_t backward_scratch() const { return 0; }
  /// y may alias x.
  virtual void forward(Context& context, const void* x, void* y, void* scratch) = 0;
  /// Overwrites dx, which may alias dy.
  virtual void backward(Context& context, const void* y, const void* dy, void* dx, void* scratch) = 0;
};

/// Returns the first candidate that accepts. `refused` collects the reasons of the others.
std::unique_ptr<Softmax> plan_softmax(const SoftmaxRequest& request, Context& context, std::string* refused = nullptr);

/// Whether a layer with more than a softmax should call plan_softmax() instead of fusing it into its own pass: true if
/// the softmax is compute-bound and candidates are faster.
bool softmax_wants_a_pass_of_its_own(const Context& context, DType dtype);

std::unique_ptr<Softmax> make_softmax_onednn(const SoftmaxRequest& request, Context& context, std::string& why);
std::unique_ptr<Softmax> make_softmax_native(const SoftmaxRequest& request, Context& context, std::string& why);
std::unique_ptr<Softmax> make_softmax_cudnn(const SoftmaxRequest& request, Context& context, std::string& why);
std::unique_ptr<Softmax> make_softmax_generic(const SoftmaxRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
