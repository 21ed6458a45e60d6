#pragma once

// Convolution (cross-correlation) of N x C x H x W by K filters in groups. Along each spatial axis
//     out = (in + 2 pad - extent) / stride + 1, rounded down, with extent = dilation (kernel - 1) + 1.
// A ReLU may follow within forward.

#include <memory>
#include <optional>
#include <string>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/weight_format.h"

namespace cortado::kernels {

/// One of the two spatial axes.
struct ConvAxis {
  int64_t in = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;

  int64_t extent() const { return dilation * (kernel - 1) + 1; }
  int64_t out() const { return (in + 2 * pad - extent()) / stride + 1; }
  bool operator==(const ConvAxis&) const = default;
};

struct ConvShape {
  int64_t n = 1, c = 1, k = 1;  ///< images, input channels, output channels
  int64_t groups = 1;           ///< divides c and k
  ConvAxis h = {}, w = {};      ///< every extent() is at most in + 2 pad
  int spatial_axes = 2;         ///< 1: the user's tensors have no h; h keeps its defaults and tensors are plain
  Layout x_layout = Layout::kPlain, y_layout = Layout::kPlain;

  TensorSpec x() const;
  TensorSpec y() const;
  Shape weight() const;  ///< K x C/groups x kernel h x kernel w, without h for one spatial axis
  int64_t macs() const;  ///< multiplications of one forward
};

struct ConvRequest {
  ConvShape shape;
  bool bias = false;
  bool relu = false;                                     ///< forward writes max(y, 0)
  bool backward_data = false, backward_weights = false;  ///< which of these will be called
  std::optional<WeightFormat> w_format = {};             ///< the storage of w and dw is given; else the kernel chooses
  bool adds = true;                                      ///< Gradients may lack one of the two, or be added to
};

/// A prepared convolution. Operands are 32-bit floats in the layouts of the shape; w and dw in weight_format().
/// Calls allocate nothing. One object serves one caller at a time.
class Conv {
 public:
  virtual ~Conv() = default;
  virtual std::string name() const = 0;
  virtual WeightFormat weight_format() const = 0;
  virtual int64_t forward_scratch() const = 0;
  virtual int64_t backward_scratch() const = 0;  ///< enough for either of the two backward functions

  /// `bias` is null without one.
  virtual void forward(Context& context, const float* x, const float* w, const float* bias, float* y,
                       void* scratch) = 0;
  /// Overwrites dx.
  virtual void backward_data(Context& context, const float* dy, const float* w, float* dx, void* scratch) = 0;

  struct Gradients {
    float *w = nullptr, *bias = nullptr;   ///< null: not wanted
    bool add_w = false, add_bias = false;  ///< add to what is there, else overwrite it
  };
  virtual void backward_weights(Context& context, const float* x, const float* dy, const Gradients& d,
                                void* scratch) = 0;
};

/// The first candidate that accepts. `refused` collects why others declined.
std::unique_ptr<Conv> plan_conv(const ConvRequest& request, Context& context, std::string* refused = nullptr);

/// Whether blocks of 16 channels suit the groups, and whether x is better left plain then (as few channels as images have).
bool conv_suits_blocks(int64_t c, int64_t k, int64_t groups);
bool conv_suits_plain_x(int64_t c, int64_t groups);

std::unique_ptr<Conv> make_conv_onednn(const ConvRequest& request, Context& context, std::string& why);
std::unique_ptr<Conv> make_conv_gemm(const ConvRequest& request, Context& context, std::string& why);

}  // namespace cortado::kernels
