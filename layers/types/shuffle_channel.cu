// ShuffleChannel: reads the channels, as a matrix of `group` rows of m, column by column: y[j group + i] = x[i m + j].
// So the next grouped convolution mixes the groups. Backward is the same with group and m exchanged.
//
// Any storage is supported: the offset from a channel to its source is the same at all positions and stored in a small
// table. Padding lanes have offset 0, and x is zero there.

#include "core/device/device_memory.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"
#include "layers/type_names.h"

namespace cortado {

namespace {

template <typename T>
struct ShuffleChannelGather {
  const T* from;
  T* to;
  const int64_t* distance;  ///< for each channel, including padding
  CORTADO_HD void operator()(int64_t i, int64_t c) const { to[i] = from[i + distance[c]]; }
};

/// The offset of channel c in one image, in elements.
int64_t shuffled_place(int64_t c, const ChannelView& view) {
  if (view.layout == Layout::kChannelsLast) return c;
  if (view.layout == Layout::kBlocked16) return c / 16 * 16 * view.inner + c % 16;
  return c * view.inner;
}

/// All stored channels, including padding.
ChannelView stored_channels(const TensorSpec& spec) {
  ChannelView view = channel_view(spec);
  if (view.layout == Layout::kBlocked16) view.channels = (view.channels + 15) / 16 * 16;
  return view;
}

class ShuffleChannelLayer : public Layer {
 public:
  explicit ShuffleChannelLayer(const LayerOptions& options);

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow, .type = TypeRule::kFollow};
  }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override { gather(context, there_, io.x[0], io.y[0]); }
  void backward(Context& context, const Operands& io) override { gather(context, back_, io.dy[0], io.dx[0]); }

 private:
  bool stays() const { return group_ == 1 || group_ == channels_ || channels_ == 0; }
  DeviceMemory distances(Context& context, const TensorSpec& spec, int64_t rows) const;
  void gather(Context& context, const DeviceMemory& table, const Tensor& from, const Tensor& to) const;

  int64_t group_, channels_ = 0;
  DeviceMemory there_, back_;  ///< for each channel the offset to its source, in elements
};

ShuffleChannelLayer::ShuffleChannelLayer(const LayerOptions& options)
    : group_(options.config.shuffle_channel_param().group()) {
  if (group_ == 0) throw FieldError("shuffle_channel_param.group", "group is 0", "set it to at least 1");
}

LayerShapes ShuffleChannelLayer::infer(const std::vector<Shape>& x) {
  require_axes(x[0], 2);
  channels_ = x[0][1];
  if (channels_ % group_ != 0)
    throw FieldError("shuffle_channel_param.group", "group is " + std::to_string(group_) +
                                                        ", which does not divide the " +
                                                        count_of(channels_, "channel", "channels") + " of bottom[0]");
  return {.y = {x[0]}, .w = {}};
}

LayerNeeds ShuffleChannelLayer::prepare(const PrepareRequest& request, Context& context) {
  LayerNeeds needs;
  needs.aliasing.view = needs.aliasing.dx_is_dy = stays();
  needs.can_recompute_y = !stays();
  if (stays()) return needs;
  there_ = distances(context, request.x[0], group_);
  if (request.backward) back_ = distances(context, request.x[0], channels_ / group_);
  return needs;
}

DeviceMemory ShuffleChannelLayer::distances(Context& context, const TensorSpec& spec, int64_t rows) const {
  const ChannelView view = stored_channels(spec);
  std::vector<int64_t> table(size_t(view.channels), 0);
  for (int64_t c = 0; c < channels_; ++c)
    table[size_t(c)] = shuffled_place(c % rows * (channels_ / rows) + c / rows, view) - shuffled_place(c, view);
  DeviceMemory memory(context, table.size() * sizeof(int64_t));
  copy_to_device(context, memory.data(), table.data(), memory.bytes());
  return memory;
}

void ShuffleChannelLayer::gather(Context& context, const DeviceMemory& table, const Tensor& from,
                                 const Tensor& to) const {
  if (stays()) return;
  const auto* distance = reinterpret_cast<const int64_t*>(table.data());
  for_each_channel_typed<ShuffleChannelGather>(context, stored_channels(from.spec), from, to, distance);
}

const RegisterLayer register_shuffle_channel({
    .name = type_names::kShuffleChannel,
    .help = "interleaves the channels of groups",
    .options = "shuffle_channel_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<ShuffleChannelLayer>,
});

}  // namespace

}  // namespace cortado
