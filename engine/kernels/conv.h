#pragma once

// Convolution (cross-correlation) of N x C x ... x H x W by K filters in groups. Along each spatial axis
//     out = (in + 2 pad - extent) / stride + 1, rounded down, with extent = dilation (kernel - 1) + 1.
// Forward supports post-ops (kernels/post_ops.h). Each direction runs the candidate that suits it best
// (kernels/conv_choice.cc).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/context.h"
#include "core/tensor.h"
#include "kernels/conv_algorithm.h"
#include "kernels/cpu_level.h"
#include "kernels/post_ops.h"
#include "kernels/weight_format.h"
#include "kernels/weight_gradients.h"

namespace cortado::kernels {

constexpr int kMaxConvAxes = 8;  ///< maximum number of spatial axes

/// One spatial axis.
struct ConvAxis {
  int64_t in = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;

  int64_t extent() const { return dilation * (kernel - 1) + 1; }
  int64_t out() const { return (in + 2 * pad - extent()) / stride + 1; }
  bool operator==(const ConvAxis&) const = default;
};

struct ConvShape {
  int64_t n = 1, c = 1, k = 1;       ///< images, input channels, output channels
  int64_t groups = 1;                ///< divides c and k
  ConvAxis h = {}, w = {};           ///< every extent() is at most in + 2 pad
  int spatial_axes = 2;              ///< 1: h is unused and has its defaults. Tensors are plain unless this is 2
  std::vector<ConvAxis> outer = {};  ///< the spatial_axes - 2 axes before h, outermost first
  Layout x_layout = Layout::kPlain, y_layout = Layout::kPlain;
  DType dtype = DType::kF32;  ///< float type of x, y and their gradients; accumulation is in 32 bits

  TensorSpec x() const;
  TensorSpec y() const;
  Shape weight() const;  ///< K x C/groups x kernel of each spatial axis
  int64_t macs() const;  ///< multiply-accumulates of one forward
};

struct ConvRequest {
  ConvShape shape;
  bool bias = false;
  PostOps post = {};  ///< of forward; affine steps are already folded into w and bias
  bool backward_data = false, backward_weights = false;  ///< which of these will be called
  std::optional<WeightFormat> w_format = {};             ///< fixes the format of w and dw; else the kernel chooses
  bool adds = true;                                      ///< WeightGradients may omit one of the two, or accumulate
  bool frozen = false;                                   ///< w is passed in the kernel's format and never read back
  bool winograd = true;                                  ///< allows Winograd candidates
  bool forward = true;                                   ///< whether it will be called; else backward_data will be
  bool sums = false;  ///< forward also writes ConvOperands::sums. Devices only, without bias and post-ops
};

enum class ConvDirection { kForward, kBackwardData, kBackwardWeights };

/// A request as text, used as a key in files: "conv forward n32 c3 224k7s2p3d1 224k7s2p3d1 to 64 in 1 plain-plain
/// bias".
std::string describe(const ConvRequest& request, ConvDirection direction);

/// Operands of one direction. forward: x, w, bias, z to y and sums; backward_data: dy, w to dx; backward_weights: x, dy
/// to d.
struct ConvOperands {
  const void *x = nullptr, *dy = nullptr;
  const void *w = nullptr, *bias = nullptr, *z = nullptr;
  void *y = nullptr, *dx = nullptr;
  WeightGradients d = {};
  float* sums = nullptr;  ///< if requested, 2 x K: the sum of each channel of the stored y, and of its squares; each
                          ///< adds up 32-bit partial sums
};

/// The memory of forward's z: y itself, separate, or either.
enum class SumPlace { kInY, kApart, kAnywhere };

/// One direction, prepared by one candidate. Calls do not allocate.
class ConvKernel {
 public:
  virtual ~ConvKernel() = default;
  virtual std::string name() const = 0;  ///< as shown by `cortado plan`
  virtual WeightFormat weight_format() const = 0;
  /// The format of the bias in nets with frozen weights. The default is plain, in the type of w.
  virtual WeightFormat bias_format() const {
    const WeightFormat w = weight_format();
    return WeightFormat::of_type(Shape{w.shape()[0]}, w.dtype());
  }
  virtual SumPlace sum_place() const { return SumPlace::kInY; }
  virtual int64_t scratch() const = 0;
  virtual void run(Context& context, const ConvOperands& io, void* scratch) = 0;
};

/// A prepared convolution. x, y and z have the shape's type and layouts; w and dw are in weight_format(), and the bias
/// has its type. Calls do not allocate. An object serves one caller at a time.
class Conv {
 public:
  /// Kernels of unused directions are null.
  Conv(const ConvRequest& request, std::unique_ptr<ConvKernel> forward, std::unique_ptr<ConvKernel> backward_data,
       std::unique_ptr<ConvKernel> backward_weights);

  std::string name() const;
  WeightFormat weight_format() const { return (forward_ ? forward_ : backward_data_)->weight_format(); }
  WeightFormat bias_format() const { return (forward_ ? forward_ : backward_data_)->bias_format(); }
  SumPlace sum_place() const { return forward_->sum_place(); }
  int64_t forward_scratch() const { return forward_ ? forward_->scratch() : 0; }
  int64_t backward_scratch() const;  ///< sufficient for both backward functions

  /// `z` is used only with a sum.
  void forward(Context& context, const ConvOperands& io, void* scratch) { forward_->run(context, io, scratch); }
  /// Overwrites dx.
  void backward_data(Context& context, const ConvOperands& io, void* scratch) {
    backward_data_->run(context, io, scratch);
  }
  void backward_weights(Context& context, const ConvOperands& io, void* scratch);

 private:
  bool adds_, has_bias_;
  std::unique_ptr<ConvKernel> forward_, backward_data_, backward_weights_;
};

/// An implementation of convolution directions.
struct ConvCandidate {
  std::string name;  ///< stable: stored in files that record choices
  /// Returns a prepared kernel, or null with the reason in `why`.
  std::function<std::unique_ptr<ConvKernel>(const ConvRequest& request, ConvDirection direction, Context& context,
                                            std::string& why)>
      make;
  /// Estimated seconds on one core of a CPU of that level, or on a device. Orders candidates without measurements. Also
  /// called for requests that make() declines.
  std::function<double(const ConvRequest& request, ConvDirection direction, CpuLevel level)> cost;
  CpuLevel CpuLevels::*level = nullptr;  ///< which level applies; null for devices
  ConvAlgorithm algorithm = ConvAlgorithm::kDirect;
  bool on_trial = false;  ///< its kernels may fail at run time, so each runs once before it is chosen
  bool compiles = false;  ///< make() takes seconds: used only if the budget allows, or if no similar candidate exists
  /// If a library offers several engines for a request: returns each as a candidate with its own name, the library's
  /// best first. They replace this candidate in the choice, and make() returns the first one that can be made.
  std::vector<ConvCandidate> (*engines)(const ConvRequest& request, ConvDirection direction, Context& context,
                                        std::string& why) = nullptr;
};

/// All candidates for 32-bit floats on the CPU, for bfloat16 on the CPU, and for devices. The last one of each list
/// accepts everything.
const std::vector<ConvCandidate>& conv_candidates();
const std::vector<ConvCandidate>& half_conv_candidates();
const std::vector<ConvCandidate>& device_conv_candidates();

/// Plans each direction with the candidate chosen for it, now or earlier (kernels/kernel_cache.h in the context).
/// `refused` collects the reasons of cheaper candidates that declined.
std::unique_ptr<Conv> plan_conv(const ConvRequest& request, Context& context, std::string* refused = nullptr);

/// Plans one direction with the best of `candidates`, as plan_conv() does. The last candidate accepts everything.
std::unique_ptr<ConvKernel> choose_conv_kernel(const std::vector<ConvCandidate>& candidates, const ConvRequest& request,
                                               ConvDirection direction, Context& context,
                                               std::string* refused = nullptr);

/// Plans all directions with one candidate; null with the reason in `why` if it declines one of them.
std::unique_ptr<Conv> make_conv(const ConvCandidate& candidate, const ConvRequest& request, Context& context,
                                std::string& why);

/// The fastest layout for 2-D convolutions on the context's device, in its precision.
Layout preferred_layout(const Context& context);

/// Whether the groups support blocks of 16 channels, and whether x should then stay plain (few channels, as in images).
bool conv_suits_blocks(int64_t c, int64_t k, int64_t groups);
bool conv_suits_plain_x(int64_t c, int64_t groups);

/// Candidates of the CPU: oneDNN's direct kernels, one per combination of layouts, and its Winograd; own Winograd, one
/// per tile size, and one for bfloat16; AMX, if usable; own direct kernels in blocks of 16 channels, for depthwise
/// groups, and for plain images; matrix products.
std::vector<ConvCandidate> onednn_conv_candidates();
std::vector<ConvCandidate> winograd_conv_candidates();
std::vector<ConvCandidate> half_winograd_conv_candidates();
std::vector<ConvCandidate> amx_conv_candidates();
ConvCandidate direct_conv_candidate();
ConvCandidate depthwise_conv_candidate();
ConvCandidate first_conv_candidate();
std::vector<ConvCandidate> gemm_conv_candidates();
/// The candidates `of` for bfloat16 values, with conversions to and from float.
std::vector<ConvCandidate> conv_candidates_as_floats(const std::vector<ConvCandidate>& of);
/// On devices and for 16-bit floats: cuDNN's engines, and our own kernel.
std::vector<ConvCandidate> cudnn_conv_candidates();
ConvCandidate plain_conv_candidate();

}  // namespace cortado::kernels
