// Pooling3D: C3D's pooling over volumes, N x C x L x H x W (layers/types/volume_pooling.h). kernel_size, stride and pad
// apply to height and width; kernel_depth, temporal_stride and temporal_pad to L. They are in pooling3d_param or
// pooling_param. MAX and AVE; the number of windows is rounded up.

#include "core/error.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"
#include "layers/types/volume_pooling.h"

namespace cortado {

namespace {

/// From either message: both have these fields, and the same enum values of pool.
template <typename Options>
VolumeWindows windows_of(const Options& o, const std::string& message) {
  if (!o.has_kernel_size() || !o.has_kernel_depth())
    throw FieldError(message, o.has_kernel_size() ? "kernel_depth is missing" : "kernel_size is missing",
                     "set kernel_size for height and width, and kernel_depth for L");
  if (o.pool() == Options::STOCHASTIC)
    throw FieldError(message + ".pool", "windows over three axes support only MAX and AVE");
  const auto option = [&message](int64_t depth, int64_t side, const std::string& name) -> VolumeWindows::Option {
    const std::string field = message + "." + name;
    return {{depth, side, side}, {message + "." + depth_field(name), field, field}};
  };
  VolumeWindows windows;
  windows.kernel = option(o.kernel_depth(), o.kernel_size(), "kernel_size");
  windows.stride = option(o.temporal_stride(), o.stride(), "stride");
  windows.pad = option(o.temporal_pad(), o.pad(), "pad");
  windows.average = o.pool() == Options::AVE;
  return windows;
}

std::unique_ptr<Layer> make_pooling3d(const LayerOptions& options) {
  const caffe::LayerParameter& layer = options.config;
  if (!layer.has_pooling3d_param()) {
    refuse_fields(layer.pooling_param(), "pooling_param",
                  {"kernel_h", "kernel_w", "stride_h", "stride_w", "pad_h", "pad_w", "global_pooling", "round_mode",
                   "torch_pooling", "pad_3d", "kernel_size_3d", "stride_3d", "avg_include_pad", "ceil_mode", "axis",
                   "dilation", "kstride"},
                  "use a Pooling layer with kernel_size_3d, which also pools volumes");
    return make_volume_pooling(windows_of(layer.pooling_param(), "pooling_param"));
  }
  if (layer.has_pooling_param())
    throw FieldError("pooling_param", "it contradicts pooling3d_param", "remove one of the two");
  return make_volume_pooling(windows_of(layer.pooling3d_param(), "pooling3d_param"));
}

const RegisterLayer register_pooling3d({
    .name = "Pooling3D",
    .help = "the maximum or the average of each window of volumes",
    .options = "pooling3d_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_pooling3d,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado
