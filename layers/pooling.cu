// Pooling: the maximum or the average of each window of the last two axes.
//
// The number of outputs is rounded up, ceil((in + 2 pad - kernel) / stride) + 1, unless round_mode is FLOOR; with
// padding, a last window that would start beyond the image and its first padding is left out. A second top of MAX
// gets the place h * W + w of each maximum, as a float. Kernels larger than the padded input are mistakes here; Caffe
// lets some of them pass.
//
// MAX takes over the backward mask of a ReLU before it: a maximum of 0 was let through by none, so dy = 0 where y is 0,
// in dy's own memory. What was there before pooling is then needed by nobody.

#include "core/error.h"
#include "kernels/pool.h"
#include "layers/registry.h"
#include "layers/relu_mask.h"

namespace cortado {

namespace {

using Options = caffe::PoolingParameter;

/// One option of the window, given for both sides or for each: kernel_size or kernel_h and kernel_w, and so on.
struct Pair {
  int64_t h, w;
};

void refuse_both(bool one, bool sides, const std::string& name, const std::string& side) {
  if (one && sides)
    throw FieldError("pooling_param." + side, side + " contradicts " + name,
                     "give either " + name + ", or the two sides");
}

Pair stride_of(const Options& o) {
  refuse_both(o.has_stride(), o.has_stride_h() || o.has_stride_w(), "stride",
              o.has_stride_h() ? "stride_h" : "stride_w");
  const Pair stride = {o.has_stride_h() ? o.stride_h() : o.stride(), o.has_stride_w() ? o.stride_w() : o.stride()};
  if (stride.h == 0 || stride.w == 0)
    throw FieldError(o.has_stride()  ? "pooling_param.stride"
                     : stride.h == 0 ? "pooling_param.stride_h"
                                     : "pooling_param.stride_w",
                     "a stride of 0 never moves on");
  return stride;
}

Pair pad_of(const Options& o) {
  refuse_both(o.has_pad(), o.has_pad_h() || o.has_pad_w(), "pad", o.has_pad_h() ? "pad_h" : "pad_w");
  return {o.has_pad_h() ? o.pad_h() : o.pad(), o.has_pad_w() ? o.pad_w() : o.pad()};
}

Pair kernel_of(const Options& o) {
  const bool sides = o.has_kernel_h() || o.has_kernel_w();
  refuse_both(o.has_kernel_size(), sides, "kernel_size", o.has_kernel_h() ? "kernel_h" : "kernel_w");
  if (!o.has_kernel_size() && !(o.has_kernel_h() && o.has_kernel_w()))
    throw FieldError(sides ? (o.has_kernel_h() ? "pooling_param.kernel_h" : "pooling_param.kernel_w") : "pooling_param",
                     sides ? "only one side of the window is given" : "the size of the window is missing",
                     "write kernel_size, or kernel_h and kernel_w, or global_pooling: true");
  const Pair kernel = {o.has_kernel_size() ? o.kernel_size() : o.kernel_h(),
                       o.has_kernel_size() ? o.kernel_size() : o.kernel_w()};
  if (kernel.h == 0 || kernel.w == 0)
    throw FieldError(o.has_kernel_size() ? "pooling_param.kernel_size"
                     : kernel.h == 0     ? "pooling_param.kernel_h"
                                         : "pooling_param.kernel_w",
                     "a window of 0 holds nothing");
  return kernel;
}

/// What else contradicts global_pooling.
void check_global(const Options& o, const Pair& stride, const Pair& pad) {
  const char* window = o.has_kernel_size() ? "kernel_size"
                       : o.has_kernel_h()  ? "kernel_h"
                       : o.has_kernel_w()  ? "kernel_w"
                                           : nullptr;
  if (window)
    throw FieldError(std::string("pooling_param.") + window, std::string(window) + " contradicts global_pooling",
                     "the window of global pooling is the whole image");
  if (pad.h != 0 || pad.w != 0)
    throw FieldError(o.has_pad()     ? "pooling_param.pad"
                     : o.has_pad_h() ? "pooling_param.pad_h"
                                     : "pooling_param.pad_w",
                     "global pooling takes no padding");
  if (stride.h != 1 || stride.w != 1)
    throw FieldError(o.has_stride()     ? "pooling_param.stride"
                     : o.has_stride_h() ? "pooling_param.stride_h"
                                        : "pooling_param.stride_w",
                     "global pooling has one window and nowhere to move");
}

void refuse_unavailable(const Options& o) {
  if (o.pool() == Options::STOCHASTIC)
    throw FieldError("pooling_param.pool", "STOCHASTIC pooling is not available yet", "use MAX or AVE");
  if (o.kernel_size_3d_size() > 0)
    throw FieldError("pooling_param.kernel_size_3d", "windows over three axes are not available yet");
  if (o.torch_pooling())
    throw FieldError("pooling_param.torch_pooling", "torch_pooling is not available",
                     "round_mode: FLOOR rounds as Torch does");
}

class PoolingLayer : public Layer {
 public:
  explicit PoolingLayer(const LayerOptions& options)
      : options_(options.config.pooling_param()), argmax_(options.config.top_size() > 1) {
    refuse_unavailable(options_);
    stride_ = stride_of(options_);
    pad_ = pad_of(options_);
    if (options_.global_pooling())
      check_global(options_, stride_, pad_);
    else
      kernel_ = kernel_of(options_);
    if (argmax_ && options_.pool() != Options::MAX)
      throw FieldError("top[1]", "only MAX has a second top, the places of the maxima");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4) throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; pooling needs N x C x H x W");
    if (options_.global_pooling()) kernel_ = {x[0][2], x[0][3]};
    const Shape y = {x[0][0], x[0][1], outputs(x[0], 2, kernel_.h, stride_.h, pad_.h),
                     outputs(x[0], 3, kernel_.w, stride_.w, pad_.w)};
    if (checked_mul(kernel_.h, kernel_.w) > INT32_MAX)
      throw FieldError(kernel_field(true), "a window of more than 2^31 places is too large");
    return {.y = argmax_ ? std::vector<Shape>{y, y} : std::vector<Shape>{y}, .w = {}};
  }

  bool take_relu_mask() override { return masks_dy_ = options_.pool() == Options::MAX; }

  /// Places are told in plain layout only, and as floats: 16 bits do not count far.
  LayoutRule layouts() const override { return argmax_ ? LayoutRule::kPlain : LayoutRule::kFollow; }
  TypeRule types() const override { return argmax_ ? TypeRule::kFloat : TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest& request, Context& context) override {
    kernels::PoolRequest pool{.x = request.x[0], .y = request.y[0]};
    pool.average = options_.pool() == Options::AVE;
    pool.count_padding = options_.avg_include_pad();
    pool.kernel_h = kernel_.h, pool.kernel_w = kernel_.w;
    pool.stride_h = stride_.h, pool.stride_w = stride_.w;
    pool.pad_h = pad_.h, pool.pad_w = pad_.w;
    pool.backward = request.backward;
    pool.argmax = argmax_;
    pool_ = kernels::plan_pool(pool, context);
    LayerNeeds needs;
    if (pool_->saved_bytes() > 0) needs.saved = {pool_->saved_bytes()};
    needs.overwrites_dy = request.backward && masks_dy_;
    needs.backward_reads_y = {needs.overwrites_dy};
    needs.forward_scratch = pool_->forward_scratch();
    needs.backward_scratch = pool_->backward_scratch();
    needs.algorithm = pool_->name();
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    pool_->forward(context, io.x[0].data, io.y[0].data, argmax_ ? io.y[1].f32() : nullptr, saved(io), io.scratch);
  }

  void backward(Context& context, const Operands& io) override {
    if (masks_dy_ && io.dy[0]) mask_by_relu(context, io.y[0], io.dy[0]);
    if (io.dx[0]) pool_->backward(context, io.dy[0].data, io.dx[0].data, saved(io), io.scratch);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>& y) const override {
    return y[0].count() * std::min(kernel_.h, x[0][2]) * std::min(kernel_.w, x[0][3]);
  }

 private:
  static void* saved(const Operands& io) { return io.saved.empty() ? nullptr : io.saved[0]; }

  std::string kernel_field(bool h) const {
    if (options_.global_pooling()) return "pooling_param.global_pooling";
    return options_.has_kernel_size() ? "pooling_param.kernel_size"
           : h                        ? "pooling_param.kernel_h"
                                      : "pooling_param.kernel_w";
  }

  int64_t outputs(const Shape& x, int axis, int64_t kernel, int64_t stride, int64_t pad) const {
    const int64_t in = x[axis], room = in + 2 * pad - kernel;
    const bool h = axis == 2;
    if (kernel == 0) throw FieldError("bottom[0]", "its shape is " + x.str() + ": there is nothing to pool");
    if (pad >= kernel)
      throw FieldError(
          options_.has_pad() ? "pooling_param.pad"
          : h                ? "pooling_param.pad_h"
                             : "pooling_param.pad_w",
          "the padding " + std::to_string(pad) + " is not smaller than the window " + std::to_string(kernel),
          "some windows would hold padding alone");
    if (room < 0)
      throw FieldError(kernel_field(h), "the window is " + std::to_string(kernel_.h) + "x" + std::to_string(kernel_.w) +
                                            ", larger than its padded input " + std::to_string(x[2] + 2 * pad_.h) +
                                            "x" + std::to_string(x[3] + 2 * pad_.w));
    const bool up = options_.round_mode() == Options::CEIL;
    int64_t out = (up ? (room + stride - 1) / stride : room / stride) + 1;
    if (pad > 0 && (out - 1) * stride >= in + pad) --out;
    return out;
  }

  const Options& options_;
  bool argmax_;
  bool masks_dy_ = false;
  Pair kernel_{}, stride_{}, pad_{};
  std::unique_ptr<kernels::Pool> pool_;
};

const RegisterLayer registered({
    .name = "Pooling",
    .help = "the maximum or the average of each window",
    .options = "pooling_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 2,
    .make = make_layer<PoolingLayer>,
});

}  // namespace

}  // namespace cortado
