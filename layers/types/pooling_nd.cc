// PoolingND: pooling over the one, two or three axes after the channels (layers/types/volume_pooling.h); each option
// has one value for all of them or one for each. MAX and AVE; the number of windows is rounded up, as in Pooling.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/registry.h"
#include "layers/types/volume_pooling.h"

namespace cortado {

namespace {

using PoolingNdOptions = caffe::PoolingNDParameter;

VolumeWindows::Option option_of(const google::protobuf::RepeatedField<uint32_t>& values, const std::string& name,
                                int64_t absent) {
  if (values.empty()) return {{absent}, {"pooling_nd_param"}};
  return {{values.begin(), values.end()}, std::vector<std::string>(size_t(values.size()), "pooling_nd_param." + name)};
}

std::unique_ptr<Layer> make_pooling_nd(const LayerOptions& options) {
  const PoolingNdOptions& o = options.config.pooling_nd_param();
  if (o.kernel_size().empty()) throw FieldError("pooling_nd_param", "the window size is missing", "set kernel_size");
  if (o.pool() == PoolingNdOptions::STOCHASTIC)
    throw FieldError("pooling_nd_param.pool", "only MAX and AVE are supported", "use a Pooling layer for STOCHASTIC");
  VolumeWindows windows;
  windows.kernel = option_of(o.kernel_size(), "kernel_size", 0);
  windows.stride = option_of(o.stride(), "stride", 1);
  windows.pad = option_of(o.pad(), "pad", 0);
  windows.average = o.pool() == PoolingNdOptions::AVE;
  windows.any_axes = true;
  return make_volume_pooling(windows);
}

const RegisterLayer register_pooling_nd({
    .name = "PoolingND",
    .help = "the maximum or the average of each window over up to three axes",
    .options = "pooling_nd_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_pooling_nd,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado
