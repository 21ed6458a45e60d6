#pragma once

// Convolution (cross-correlation) of N x C x ... x H x W by K filters in groups. Along each spatial axis
//     out = (in + 2 pad - extent) / stride + 1, rounded down, with extent = dilation (kernel - 1) + 1.
// Forward may do more to each value (kernels/post_ops.h). Each direction is run by the candidate that suits it best
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

namespace cortado::kernels {

constexpr int kMaxConvAxes = 8;  ///< spatial ones

/// One of the spatial axes.
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
  int spatial_axes = 2;              ///< 1: no h, which keeps its defaults. Tensors are plain unless it is 2
  std::vector<ConvAxis> outer = {};  ///< the axes before h, outermost first: spatial_axes - 2 of them
  Layout x_layout = Layout::kPlain, y_layout = Layout::kPlain;
  DType dtype = DType::kF32;  ///< of x, y and their gradients, a float type; sums are always 32-bit floats

  TensorSpec x() const;
  TensorSpec y() const;
  Shape weight() const;  ///< K x C/groups x kernel of each spatial axis
  int64_t macs() const;  ///< multiplications of one forward
};

struct ConvRequest {
  ConvShape shape;
  bool bias = false;
  PostOps post = {};                                     ///< of forward; affine steps are in w and bias already
  bool backward_data = false, backward_weights = false;  ///< which of these will be called
  std::optional<WeightFormat> w_format = {};             ///< the storage of w and dw is given; else the kernel chooses
  bool adds = true;                                      ///< ConvGradients may lack one of the two, or be added to
  bool frozen = false;                                   ///< w is given as the kernel wants it, and never read back
  bool winograd = true;                                  ///< candidates of that algorithm may be taken
  bool forward = true;                                   ///< whether it will be called; else backward_data will be
  bool sums = false;  ///< forward adds up its results, too: ConvOperands::sums. On devices alone, without bias or post
};

enum class ConvDirection { kForward, kBackwardData, kBackwardWeights };

/// "conv forward n32 c3 224k7s2p3d1 224k7s2p3d1 to 64 in 1 plain-plain bias": a request, in words that files keep.
std::string describe(const ConvRequest& request, ConvDirection direction);

struct ConvGradients {
  float *w = nullptr, *bias = nullptr;   ///< null: not wanted
  bool add_w = false, add_bias = false;  ///< add to what is there, else overwrite it
};

/// What one direction reads and writes: forward x, w, bias, z to y and sums; backward_data dy, w to dx;
/// backward_weights x, dy to d.
struct ConvOperands {
  const void *x = nullptr, *dy = nullptr;
  const void *w = nullptr, *bias = nullptr, *z = nullptr;
  void *y = nullptr, *dx = nullptr;
  ConvGradients d = {};
  float* sums = nullptr;  ///< where the request wants them: 2 x K, of each channel of y as it is stored, and of its
                          ///< squares; each a sum of 32-bit sums of shares
};

/// Where forward's z lies: it is y, it is another memory, or either.
enum class SumPlace { kInY, kApart, kAnywhere };

/// One direction, prepared by one candidate. Calls allocate nothing.
class ConvKernel {
 public:
  virtual ~ConvKernel() = default;
  virtual std::string name() const = 0;  ///< as plans show it
  virtual WeightFormat weight_format() const = 0;
  /// Of the bias, in nets whose weights never change: as it is, in the type of w, unless a kernel wants it otherwise.
  virtual WeightFormat bias_format() const {
    const WeightFormat w = weight_format();
    return WeightFormat::of_type(Shape{w.shape()[0]}, w.dtype());
  }
  virtual SumPlace sum_place() const { return SumPlace::kInY; }
  virtual int64_t scratch() const = 0;
  virtual void run(Context& context, const ConvOperands& io, void* scratch) = 0;
};

/// A prepared convolution. x, y and z are of the shape's type and layouts; w and dw are in weight_format(), a bias in
/// the type of that. Calls allocate nothing. One object serves one caller at a time.
class Conv {
 public:
  /// Kernels of directions that are not wanted are null.
  Conv(std::unique_ptr<ConvKernel> forward, std::unique_ptr<ConvKernel> backward_data,
       std::unique_ptr<ConvKernel> backward_weights);

  std::string name() const;
  WeightFormat weight_format() const { return (forward_ ? forward_ : backward_data_)->weight_format(); }
  WeightFormat bias_format() const { return (forward_ ? forward_ : backward_data_)->bias_format(); }
  SumPlace sum_place() const { return forward_->sum_place(); }
  int64_t forward_scratch() const { return forward_ ? forward_->scratch() : 0; }
  int64_t backward_scratch() const;  ///< enough for either of the two backward functions

  /// `z` matters with a sum.
  void forward(Context& context, const ConvOperands& io, void* scratch) { forward_->run(context, io, scratch); }
  /// Overwrites dx.
  void backward_data(Context& context, const ConvOperands& io, void* scratch) {
    backward_data_->run(context, io, scratch);
  }
  void backward_weights(Context& context, const ConvOperands& io, void* scratch) {
    backward_weights_->run(context, io, scratch);
  }

 private:
  std::unique_ptr<ConvKernel> forward_, backward_data_, backward_weights_;
};

/// A way to run one direction.
struct ConvCandidate {
  std::string name;  ///< stable: files that record choices hold it
  /// A prepared kernel; or null, with the reason in `why`.
  std::function<std::unique_ptr<ConvKernel>(const ConvRequest& request, ConvDirection direction, Context& context,
                                            std::string& why)>
      make;
  /// An estimate, in seconds of one core of a CPU of that level, or of a device: what orders candidates that are not
  /// measured. Called for requests that make() may refuse.
  std::function<double(const ConvRequest& request, ConvDirection direction, CpuLevel level)> cost;
  CpuLevel CpuLevels::*level = nullptr;  ///< which of the two it goes by; null: a device's
  ConvAlgorithm algorithm = ConvAlgorithm::kDirect;
  bool on_trial = false;  ///< what it makes may fail when it runs, so that it runs once before it is taken
  bool compiles = false;  ///< make() takes seconds: only where measuring has them, or there is no other like it
  /// Where a library has many: those that it offers for this request, each a candidate with a name of its own, its best
  /// first. They are chosen among in this one's place, and make() is the first of them that can be made.
  std::vector<ConvCandidate> (*engines)(const ConvRequest& request, ConvDirection direction, Context& context,
                                        std::string& why) = nullptr;
};

/// All candidates for 32-bit floats on the CPU, for bfloat16 values there, and all for devices; the last one of each
/// accepts everything.
const std::vector<ConvCandidate>& conv_candidates();
const std::vector<ConvCandidate>& half_conv_candidates();
const std::vector<ConvCandidate>& device_conv_candidates();

/// Each direction by the candidate that was chosen for it, now or earlier (kernels/kernel_cache.h in the context).
/// `refused` collects why candidates with a lower cost declined.
std::unique_ptr<Conv> plan_conv(const ConvRequest& request, Context& context, std::string* refused = nullptr);

/// One direction by the candidate that suits it best, as plan_conv() does, among `candidates`, the last of which
/// accepts everything.
std::unique_ptr<ConvKernel> choose_conv_kernel(const std::vector<ConvCandidate>& candidates, const ConvRequest& request,
                                               ConvDirection direction, Context& context,
                                               std::string* refused = nullptr);

/// All directions by one candidate; null, with the reason in `why`, where it declines one of them.
std::unique_ptr<Conv> make_conv(const ConvCandidate& candidate, const ConvRequest& request, Context& context,
                                std::string& why);

/// The layout that convolutions of images like best on the context's device, in its precision.
Layout preferred_layout(const Context& context);

/// Whether blocks of 16 channels suit the groups, and whether x is better left plain then (as few channels as images
/// have).
bool conv_suits_blocks(int64_t c, int64_t k, int64_t groups);
bool conv_suits_plain_x(int64_t c, int64_t groups);

/// One candidate for each mix of storages that oneDNN's direct kernels may run in, and its Winograd; one for each size
/// of our own Winograd's tiles, and one for bfloat16; AMX's tiles, where the program may use them; direct sums in
/// blocks of 16 channels, such for groups of one channel, and from images as they come; matrix products.
std::vector<ConvCandidate> onednn_conv_candidates();
std::vector<ConvCandidate> winograd_conv_candidates();
std::vector<ConvCandidate> half_winograd_conv_candidates();
std::vector<ConvCandidate> amx_conv_candidates();
ConvCandidate direct_conv_candidate();
ConvCandidate depthwise_conv_candidate();
ConvCandidate first_conv_candidate();
std::vector<ConvCandidate> gemm_conv_candidates();
/// Of bfloat16 values: what these do with floats, behind conversions.
std::vector<ConvCandidate> conv_candidates_as_floats(const std::vector<ConvCandidate>& of);
/// On devices and for 16-bit floats: cuDNN's engines, and ours.
std::vector<ConvCandidate> cudnn_conv_candidates();
ConvCandidate plain_conv_candidate();

}  // namespace cortado::kernels
