#include "layers/common/windows/pool_window.h"

#include <algorithm>

#include "core/error.h"
#include "layers/common/windows/volume_options.h"

namespace cortado {

namespace {

using PoolWindowOptions = caffe::PoolingParameter;

void refuse_both(bool one, bool sides, const std::string& name, const std::string& side) {
  if (one && sides)
    throw FieldError("pooling_param." + side, side + " contradicts " + name,
                     "set either " + name + ", or the two sides");
}

PoolWindow::Pair stride_of(const PoolWindowOptions& o) {
  refuse_both(o.has_stride(), o.has_stride_h() || o.has_stride_w(), "stride",
              o.has_stride_h() ? "stride_h" : "stride_w");
  const PoolWindow::Pair stride = {o.has_stride_h() ? o.stride_h() : o.stride(),
                                   o.has_stride_w() ? o.stride_w() : o.stride()};
  if (stride.h == 0 || stride.w == 0)
    throw FieldError(o.has_stride()  ? "pooling_param.stride"
                     : stride.h == 0 ? "pooling_param.stride_h"
                                     : "pooling_param.stride_w",
                     "the stride is 0, but must be at least 1");
  return stride;
}

PoolWindow::Pair pad_of(const PoolWindowOptions& o) {
  refuse_both(o.has_pad(), o.has_pad_h() || o.has_pad_w(), "pad", o.has_pad_h() ? "pad_h" : "pad_w");
  return {o.has_pad_h() ? o.pad_h() : o.pad(), o.has_pad_w() ? o.pad_w() : o.pad()};
}

PoolWindow::Pair kernel_of(const PoolWindowOptions& o) {
  const bool sides = o.has_kernel_h() || o.has_kernel_w();
  refuse_both(o.has_kernel_size(), sides, "kernel_size", o.has_kernel_h() ? "kernel_h" : "kernel_w");
  if (!o.has_kernel_size() && !(o.has_kernel_h() && o.has_kernel_w()))
    throw FieldError(sides ? (o.has_kernel_h() ? "pooling_param.kernel_h" : "pooling_param.kernel_w") : "pooling_param",
                     sides ? "only one side of the window is set" : "the window size is missing",
                     "set kernel_size, or kernel_h and kernel_w, or global_pooling: true");
  const PoolWindow::Pair kernel = {o.has_kernel_size() ? o.kernel_size() : o.kernel_h(),
                                   o.has_kernel_size() ? o.kernel_size() : o.kernel_w()};
  if (kernel.h == 0 || kernel.w == 0)
    throw FieldError(o.has_kernel_size() ? "pooling_param.kernel_size"
                     : kernel.h == 0     ? "pooling_param.kernel_h"
                                         : "pooling_param.kernel_w",
                     "the window is 0, but must be at least 1");
  return kernel;
}

/// Other contradictions to global_pooling.
void check_global(const PoolWindowOptions& o, const PoolWindow::Pair& stride, const PoolWindow::Pair& pad) {
  const char* window = o.has_kernel_size() ? "kernel_size"
                       : o.has_kernel_h()  ? "kernel_h"
                       : o.has_kernel_w()  ? "kernel_w"
                                           : nullptr;
  if (window)
    throw FieldError(std::string("pooling_param.") + window, std::string(window) + " contradicts global_pooling",
                     "remove it: the window of global pooling is the whole image");
  if (pad.h != 0 || pad.w != 0)
    throw FieldError(o.has_pad()     ? "pooling_param.pad"
                     : o.has_pad_h() ? "pooling_param.pad_h"
                                     : "pooling_param.pad_w",
                     "global pooling does not support padding");
  if (stride.h != 1 || stride.w != 1)
    throw FieldError(o.has_stride()     ? "pooling_param.stride"
                     : o.has_stride_h() ? "pooling_param.stride_h"
                                        : "pooling_param.stride_w",
                     "global pooling has a single window, without a stride");
}

void refuse_volumes(const PoolWindowOptions& o) {
  const char* field = o.stride_3d_size() > 0 ? "stride_3d" : o.pad_3d_size() > 0 ? "pad_3d" : nullptr;
  if (field)
    throw FieldError(std::string("pooling_param.") + field, std::string(field) + " needs kernel_size_3d",
                     "set kernel_size_3d, stride_3d and pad_3d for windows over three axes");
  refuse_fields(o, "pooling_param", {"kernel_depth", "temporal_stride", "temporal_pad"}, "use them only in Pooling3D");
}

}  // namespace

bool rounds_up(const PoolWindowOptions& o) {
  const bool up = o.has_round_mode() ? o.round_mode() == PoolWindowOptions::CEIL : !o.torch_pooling() && o.ceil_mode();
  if (o.has_ceil_mode() && o.ceil_mode() != up)
    throw FieldError("pooling_param.ceil_mode",
                     std::string("ceil_mode contradicts ") + (o.has_round_mode() ? "round_mode" : "torch_pooling"),
                     "keep one of them");
  if (o.torch_pooling() && up)
    throw FieldError("pooling_param.torch_pooling", "torch_pooling contradicts round_mode",
                     "keep one of them: torch_pooling rounds down");
  return up;
}

bool PoolDilation::none() const {
  return std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 1; });
}

PoolDilation pool_dilation(const PoolWindowOptions& o) {
  if (o.dilation_size() > 0 && o.kstride_size() > 0)
    throw FieldError("pooling_param.kstride[0]", "kstride and dilation are both set",
                     "remove kstride, the earlier name of dilation");
  const auto& values = o.kstride_size() > 0 ? o.kstride() : o.dilation();
  const std::string field = o.kstride_size() > 0 ? "pooling_param.kstride" : "pooling_param.dilation";
  for (int i = 0; i < values.size(); ++i)
    if (values[i] == 0 || values[i] > INT32_MAX)
      throw FieldError(field + "[" + std::to_string(i) + "]",
                       "the dilation is " + std::to_string(values[i]) + (values[i] ? ", which is too large" : ""),
                       "set it to at least 1");
  if (values.empty()) return {{1}, field};
  return {{values.begin(), values.end()}, field};
}

int64_t number_of_windows(int64_t in, int64_t kernel, int64_t stride, int64_t pad, bool up) {
  const int64_t room = in + 2 * pad - kernel;
  if (room < 0) return up && room > -stride ? 1 : 0;
  const int64_t out = (up ? (room + stride - 1) / stride : room / stride) + 1;
  return pad > 0 && (out - 1) * stride >= in + pad ? out - 1 : out;
}

void check_channel_axis(const PoolWindowOptions& options, const Shape& x) {
  if (x.canonical_axis(options.axis()) != 1)
    throw FieldError("pooling_param.axis", "axis " + std::to_string(options.axis()) + " cannot hold the channels",
                     "remove axis, or set 1");
}

PoolWindow::PoolWindow(const PoolWindowOptions& options) : options_(options) {
  refuse_volumes(options_);
  up_ = rounds_up(options_);
  stride = stride_of(options_);
  pad = pad_of(options_);
  if (options_.global_pooling())
    check_global(options_, stride, pad);
  else
    kernel = kernel_of(options_);
}

Shape PoolWindow::infer(const Shape& x) {
  if (x.axes() != 4)
    throw FieldError("bottom[0]", "its shape is " + x.str() + "; pooling needs N x C x H x W",
                     "set kernel_size_3d for windows over three axes, of N x C x D x H x W");
  check_channel_axis(options_, x);
  if (options_.global_pooling()) kernel = {x[2], x[3]};
  const Shape y = {x[0], x[1], outputs(x, 2), outputs(x, 3)};
  if (checked_mul(kernel.h, kernel.w) > INT32_MAX)
    throw FieldError(kernel_field(true), "a window of more than 2^31 values is too large");
  return y;
}

std::string PoolWindow::kernel_field(bool h) const {
  if (options_.global_pooling()) return "pooling_param.global_pooling";
  return options_.has_kernel_size() ? "pooling_param.kernel_size"
         : h                        ? "pooling_param.kernel_h"
                                    : "pooling_param.kernel_w";
}

int64_t PoolWindow::outputs(const Shape& x, int axis) const {
  const bool h = axis == 2;
  const int64_t in = x[axis], size = h ? kernel.h : kernel.w, step = h ? stride.h : stride.w;
  const int64_t before = h ? pad.h : pad.w;
  if (size == 0) throw FieldError("bottom[0]", "its shape is " + x.str() + ", which is empty");
  if (before >= size)
    throw FieldError(
        options_.has_pad() ? "pooling_param.pad"
        : h                ? "pooling_param.pad_h"
                           : "pooling_param.pad_w",
        "the padding " + std::to_string(before) + " is not smaller than the window " + std::to_string(size),
        "set a smaller padding: some windows would contain only padding");
  const int64_t windows = number_of_windows(in, size, step, before, up_);
  if (windows == 0)
    throw FieldError(kernel_field(h), "the window is " + std::to_string(kernel.h) + "x" + std::to_string(kernel.w) +
                                          ", larger than its padded input " + std::to_string(x[2] + 2 * pad.h) + "x" +
                                          std::to_string(x[3] + 2 * pad.w));
  return windows;
}

}  // namespace cortado
