#pragma once

// y = e^x / sum of e^x along the middle axis of outer x classes x inner, row major. The largest x is subtracted
// first, so nothing overflows. Backward: dx = y (dy - sum of y dy).

#include <memory>
#include <string>

#include "core/context.h"
#include "core/tensor.h"

namespace cortado::kernels {

struct SoftmaxRequest {
  int64_t outer = 1, classes = 1, inner = 1;
  bool backward = false;      ///< backward() will be called
  DType dtype = DType::kF32;  ///< of all operands, a float type; sums are 32-bit floats
};

class Softmax {
 public:
  virtual ~Softmax() = default;
  virtual std::string name() const = 0;
  virtual int64_t forward_scratch() const { return 0; }
  virtual int64_t backward_scratch() const { return 0; }
  /// y may be x's memory.
  virtual void forward(Context& context, const void* x, void* y, void* scratch) = 0;
  /// Overwrites dx, which may be dy's memory.
  virtual void backward(Context& context, const void* y, const void* dy, void* dx, void* scratch) = 0;
};

/// The first candidate that accepts. `refused` collects why others declined.
std::unique_ptr<Softmax> plan_softmax(const SoftmaxRequest& request, Context& context, std::string* refused = nullptr);

/// Whether a layer that computes more than the softmax had better leave it to plan_softmax() than compute it within its
/// own pass over memory: where it is bound by arithmetic that candidates do faster.
bool softmax_wants_a_pass_of_its_own(const Context& context, DType dtype);

std::unique_ptr<Softmax> make_softmax_onednn(const SoftmaxRequest& request, Context& context, std::string& why);
std::unique_ptr<Softmax> make_softmax_native(const SoftmaxRequest& request, Context& context, std::string& why);
std::unique_ptr<Softmax> make_softmax_cudnn(const SoftmaxRequest& request, Context& context, std::string& why);
std::unique_ptr<Softmax> make_softmax_generic(const SoftmaxRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
