// Pooling3D: C3D's pooling over volumes, N x C x L x H x W (layers/types/volume_pooling.h). kernel_size, stride and pad
// apply to height and width; kernel_depth, temporal_stride and temporal_pad to L. They are in pooling3d_param or
// pooling_param. MAX and AVE; the number of windows is rounded up.
//
// P3D (Qiu et al. 2017) writes kernel_l, stride_l and pad_l for L, and may have kernel_h and kernel_w instead of
// kernel_size, and so on.

#include <string>
#include <vector>

#include "core/error.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"
#include "layers/types/volume_pooling.h"

namespace cortado {

namespace {

struct PoolingValue {
  bool set;
  int64_t value;
  std::string field;
};

/// The one of `names` that is set, or the default of the first one. Names that the message lacks are skipped.
PoolingValue value_of(const google::protobuf::Message& options, const std::string& message,
                      const std::vector<std::string>& names) {
  const google::protobuf::FieldDescriptor* found = nullptr;
  for (const std::string& name : names) {
    const auto* field = options.GetDescriptor()->FindFieldByName(name);
    if (!field || !options.GetReflection()->HasField(options, field)) continue;
    if (found) throw FieldError(message + "." + name, "it contradicts " + found->name(), "remove one of the two");
    found = field;
  }
  const bool set = found != nullptr;
  if (!set) found = options.GetDescriptor()->FindFieldByName(names[0]);
  return {set, options.GetReflection()->GetUInt32(options, found), message + "." + found->name()};
}

/// From either message: both have these fields, and the same enum values of pool.
template <typename Options>
VolumeWindows windows_of(const Options& o, const std::string& message) {
  const auto option = [&](const std::string& name, const char* needed) -> VolumeWindows::Option {
    const std::string stem = name.substr(0, name.find('_'));
    VolumeWindows::Option made;
    for (const std::vector<std::string>& names :
         {std::vector<std::string>{depth_field(name), stem + "_l"}, {name, stem + "_h"}, {name, stem + "_w"}}) {
      const PoolingValue given = value_of(o, message, names);
      if (needed && !given.set) throw FieldError(message, names[0] + " is missing", needed);
      made.values.push_back(given.value);
      made.fields.push_back(given.field);
    }
    return made;
  };
  VolumeWindows windows;
  windows.kernel = option("kernel_size", "set kernel_size for height and width, and kernel_depth for L");
  if (o.pool() == Options::STOCHASTIC)
    throw FieldError(message + ".pool", "windows over three axes support only MAX and AVE");
  windows.stride = option("stride", nullptr);
  windows.pad = option("pad", nullptr);
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
  if (layer.pooling3d_param().global_pooling())
    throw FieldError("pooling3d_param.global_pooling", "it is not supported for volumes",
                     "set kernel_depth, kernel_h and kernel_w to the sides of the volume");
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
