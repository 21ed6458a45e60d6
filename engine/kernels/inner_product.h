#pragma once

// The fully connected product: y = x w^T + bias, with x of rows x inputs and w of outputs x inputs (transposed: w is
// stored, and seen by the user, as inputs x outputs). An activation may follow within forward.

#include <memory>
#include <optional>
#include <string>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/post_ops.h"
#include "kernels/weight_format.h"

namespace cortado::kernels {

struct InnerProductRequest {
  int64_t rows = 0, inputs = 0, outputs = 0;
  bool transpose = false;
  bool bias = false;
  PostOps post = {};                                     ///< of forward: an activation alone
  bool backward_data = false, backward_weights = false;  ///< which of these will be called
  std::optional<WeightFormat> w_format = {};             ///< the storage of w and dw is given; else the kernel chooses
  bool adds = true;                                      ///< Gradients may lack one of the two, or be added to
  bool turns = false;                                    ///< backward_data gets w as turn() gives it
  DType dtype = DType::kF32;                             ///< of x, y and their gradients, a float type
  bool frozen = false;                                   ///< w is set once and never read back: any storage will do

  Shape weight() const { return transpose ? Shape{inputs, outputs} : Shape{outputs, inputs}; }
};

/// A prepared product. x and y are plain; w and dw are in weight_format(), a bias in the type of that. Calls allocate
/// nothing. One object serves one caller at a time.
class InnerProduct {
 public:
  virtual ~InnerProduct() = default;
  virtual std::string name() const = 0;
  virtual WeightFormat weight_format() const = 0;
  virtual int64_t forward_scratch() const = 0;
  virtual int64_t backward_scratch() const = 0;  ///< enough for either of the two backward functions

  /// `bias` is null without one.
  virtual void forward(Context& context, const void* x, const void* w, const void* bias, void* y, void* scratch) = 0;
  /// Where many calls of backward_data share a w, what these need done to it is done once: turn() gives what they take
  /// in its place, made in turned_bytes() at `turned`, or w itself.
  virtual int64_t turned_bytes() const { return 0; }
  virtual const float* turn(Context&, const float* w, void* turned, void* scratch) {
    (void)turned, (void)scratch;
    return w;
  }
  /// Overwrites dx.
  virtual void backward_data(Context& context, const void* dy, const float* w, void* dx, void* scratch) = 0;

  struct Gradients {
    float *w = nullptr, *bias = nullptr;   ///< null: not wanted
    bool add_w = false, add_bias = false;  ///< add to what is there, else overwrite it
  };
  virtual void backward_weights(Context& context, const void* x, const void* dy, const Gradients& d, void* scratch) = 0;
};

/// The first candidate that accepts. `refused` collects why others declined.
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
