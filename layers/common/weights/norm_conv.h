#pragma once

// The building block of DenseNets (Huang et al. 2017): batch normalization with scale and bias, ReLU, and a
// size-preserving convolution without bias, of plain images of 32-bit floats. The intermediate values are not kept;
// backward recomputes them from x, as in Pleiss et al. 2017.

#include <memory>

#include "kernels/batch_norm.h"
#include "kernels/conv.h"
#include "layers/layer.h"

namespace cortado {

class NormConv {
 public:
  struct Form {
    int64_t images, channels, height, width;  ///< of x
    int64_t outputs;                          ///< channels of y
    int64_t kernel_h, kernel_w;               ///< odd
    float eps;
    bool given_statistics;  ///< mean and variance are inputs of forward
  };

  /// The memory of one call. x, y and their gradients are images x channels x height x width.
  struct Operands {
    const float* x = nullptr;
    float* between = nullptr;  ///< x_count(): the convolution's input
    float* y = nullptr;
    const void* filter = nullptr;  ///< in filter_format()
    const float *gamma = nullptr, *beta = nullptr;
    float *mean = nullptr, *variance = nullptr;  ///< written by forward unless given; read by backward
    const float* dy = nullptr;
    float* dx = nullptr;                        ///< of x_count()
    float *dgamma = nullptr, *dbeta = nullptr;  ///< null: not needed
    bool add_dgamma = false, add_dbeta = false;
    kernels::WeightGradients d = {};  ///< of the filter only
    void* scratch = nullptr;
  };

  /// `filter` is the index of its weight in `request`.
  NormConv(const Form& form, const PrepareRequest& request, size_t filter, Context& context);

  int64_t x_count() const { return form_.images * form_.channels * form_.height * form_.width; }
  int64_t y_count() const { return form_.images * form_.outputs * form_.height * form_.width; }
  kernels::WeightFormat filter_format() const { return conv_->weight_format(); }
  int64_t forward_scratch() const;
  int64_t backward_scratch() const;
  static int64_t flops(const Form& form);  ///< of forward

  void forward(Context& context, const Operands& io);
  /// Computes y again, with the mean and the variance that forward left.
  void recompute(Context& context, const Operands& io);
  /// Overwrites `between` and dx, but not y.
  void backward(Context& context, const Operands& io);

 private:
  static kernels::ConvShape conv_shape(const Form& form);
  static kernels::BatchNormOperands norm_operands(const Operands& io);
  static void normalise(Context& context, kernels::BatchNorm& norm, const Operands& io);
  void run(Context& context, kernels::BatchNorm& norm, const Operands& io);

  Form form_;
  std::unique_ptr<kernels::BatchNorm> norm_;
  std::unique_ptr<kernels::BatchNorm> again_;  ///< the same with given statistics, for backward
  std::unique_ptr<kernels::Conv> conv_;
};

}  // namespace cortado
