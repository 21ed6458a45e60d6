#pragma once

// Inner product (fully connected): y = x w^T + bias, with x of rows x inputs and w of outputs x inputs (transposed: w
// is stored, and seen by the user, as inputs x outputs). Forward supports a fused activation.

#include <memory>
#include <optional>
#include <string>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/post_ops.h"
#include "kernels/weight_format.h"
#include "kernels/weight_gradients.h"

namespace cortado::kernels {

struct InnerProductRequest {
  int64_t rows = 0, inputs = 0, outputs = 0;
  bool transpose = false;
  bool bias = false;
  PostOps post = {};                                     ///< of forward; only an activation
  bool backward_data = false, backward_weights = false;  ///< which of these will be called
  std::optional<WeightFormat> w_format = {};             ///< fixes the format of w and dw; else the kernel chooses
  bool adds = true;                                      ///< Gradients may omit one of the two, or accumulate
  bool turns = false;                                    ///< backward_data takes the result of turn() as w
  DType dtype = DType::kF32;                             ///< float type of x, y and their gradients
  bool frozen = false;                                   ///< w is set once and never read back, so any format will do

  Shape weight() const { return transpose ? Shape{inputs, outputs} : Shape{outputs, inputs}; }
};

/// A prepared inner product. x and y are plain; w and dw are in weight_format(), and the bias has its type. Calls do
/// not allocate. An object serves one caller at a time.
class InnerProduct {
 public:
  virtual ~InnerProduct() = default;
  virtual std::string name() const = 0;
  virtual WeightFormat weight_format() const = 0;
  virtual int64_t forward_scratch() const = 0;
  virtual int64_t backward_scratch() const = 0;  ///< sufficient for both backward functions

  /// `bias` is null if the request has none.
  virtual void forward(Context& context, const void* x, const void* w, const void* bias, void* y, void* scratch) = 0;
  /// Transforms w once for many calls of backward_data, which take the result in place of w. turn() writes
  /// turned_bytes() bytes to `turned` and returns them, or returns w.
  virtual int64_t turned_bytes() const { return 0; }
  virtual const float* turn(Context&, const float* w, void* turned, void* scratch) {
    (void)turned, (void)scratch;
    return w;
  }
  /// Overwrites dx.
  virtual void backward_data(Context& context, const void* dy, const float* w, void* dx, void* scratch) = 0;

  virtual void backward_weights(Context& context, const void* x, const void* dy, const WeightGradients& d,
                                void* scratch) = 0;
};

/// Returns the first candidate that accepts. `refused` collects the reasons of the others.
std::unique_ptr<InnerProduct> plan_inner_product(const InnerProductRequest& request, Context& context,
                                                 std::string* refused = nullptr);

std::unique_ptr<InnerProduct> make_inner_product_onednn(const InnerProductRequest& request, Context& context,
                                                        std::string& why);
std::unique_ptr<InnerProduct> make_inner_product_gemm(const InnerProductRequest& request, Context& context,
                                                      std::string& why);
std::unique_ptr<InnerProduct> make_inner_product_openblas(const InnerProductRequest& request, Context& context,
                                                          std::string& why);
std::unique_ptr<InnerProduct> make_inner_product_as_floats(const InnerProductRequest& request, Context& context,
                                                           std::string& why);
std::unique_ptr<InnerProduct> make_inner_product_cublaslt(const InnerProductRequest& request, Context& context,
                                                          std::string& why);
std::unique_ptr<InnerProduct> make_inner_product_generic(const InnerProductRequest& request, Context& context,
                                                         std::string& why);

}  // namespace cortado::kernels
