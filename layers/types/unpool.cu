// The inverse of a max pooling: Upsample with two bottoms, as in SegNet, and DeconvNet's Unpooling
// (layers/types/unpooling.cu). The mask is the pooling's second top. y is 0 except y[mask[i]] = x[i] in each plane;
// dx[i] = dy[mask[i]].
//
// Upsample's y is upsample_h x upsample_w, which override a scale; else scale times x's size, minus a row or column
// with pad_out_h, pad_out_w. If windows overlapped and two values have the same index, the last one wins, also on
// devices; so one thread fills a plane in order. An index outside y is an error. On devices forward does not check
// values; there it makes its plane NaN.

#include <algorithm>
#include <cmath>

#include "core/device/device_memory.h"
#include "core/device/host_view.h"
#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/copies.h"
#include "layers/registry.h"
#include "layers/types/unpool.h"

namespace cortado {

namespace {

/// Maps planes of `values` elements to planes of `places`.
struct UnpoolMask {
  const float* mask;
  int64_t values, places;
  CORTADO_HD bool valid(int64_t i) const { return mask[i] > -1 && mask[i] < float(places); }
  CORTADO_HD int64_t place(int64_t i, int64_t plane) const { return plane * places + int64_t(mask[i]); }
};

template <typename T>
struct UnpoolForward {
  const T* x;
  float* y;
  UnpoolMask mask;
  CORTADO_HD void operator()(int64_t, int64_t plane) const {
    bool valid = true;
    for (int64_t i = plane * mask.values; i < (plane + 1) * mask.values; ++i) {
      if (mask.valid(i))
        y[mask.place(i, plane)] = x[i];
      else
        valid = false;
    }
    if (!valid && mask.places > 0) y[plane * mask.places] = NAN;
  }
};

template <typename T>
struct UnpoolBackward {
  T* dx;
  const float* dy;
  UnpoolMask mask;
  CORTADO_HD void operator()(int64_t i, int64_t plane) const {
    dx[i] = mask.valid(i) ? dy[mask.place(i, plane)] : 0.0f;
  }
};

/// Throws Error(kData) at the first index outside y, whose planes have shape `plane`. Reads the mask on the host.
void check_mask(const UnpoolMask& mask, int64_t count, const Shape& plane, const std::string& advice) {
  for (int64_t i = 0; i < count; ++i)
    if (!mask.valid(i))
      throw Error(ExitCode::kData,
                  "index " + to_text(mask.mask[i]) + " in bottom[1] is outside the " + plane.str() + " of top[0]",
                  advice);
}

class UnpoolLayer : public Layer {
 public:
  explicit UnpoolLayer(const UnpoolRule& rule) : rule_(rule) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; " + rule_.type + " needs N x C x H x W");
    if (x[1] != x[0])
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str(),
                       "use the second top of the pooling as the mask");
    const UnpoolSize size = rule_.size(x[0]);
    return {.y = {{x[0][0], x[0][1], size.h, size.w}}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kReads}; }
  bool differentiable(int i) const override { return i == 0; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {false, true};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const UnpoolMask mask = mask_of(io);
    clear_values(context, io.y[0]);
    const ChannelView planes{1, io.y[0].shape().count(0, 2), 1, Layout::kPlain};
    for_each_channel_typed<UnpoolForward>(context, planes, io.x[0], io.y[0].f32(), mask);
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    const UnpoolMask mask = mask_of(io);
    const ChannelView planes{1, io.dx[0].shape().count(0, 2), mask.values, Layout::kPlain};
    for_each_channel_typed<UnpoolBackward>(context, planes, io.dx[0], io.dy[0].f32(), mask);
  }

  void validate(Context& context, const Operands& io) override {
    UnpoolMask mask = mask_of(io);
    const HostView values(context, mask.mask, io.x[1].count());
    mask.mask = values.data();
    check_mask(mask, io.x[1].count(), plane(io), rule_.advice);
  }

 private:
  static Shape plane(const Operands& io) { return {io.y[0].shape()[2], io.y[0].shape()[3]}; }
  static UnpoolMask mask_of(const Operands& io) { return {io.x[1].f32(), io.x[1].shape().count(2), plane(io).count()}; }

  UnpoolRule rule_;
};

using UnpoolOptions = caffe::UpsampleParameter;

void require_upsample_size(bool none, const std::string& field) {
  if (none) throw FieldError("upsample_param." + field, field + " is 0", "set the size of the pooling's bottom");
}

int64_t scaled_up(int64_t in, int64_t scale, bool pad_out, const std::string& field) {
  if (!pad_out) return checked_mul(in, scale);
  if (scale != 2)
    throw FieldError("upsample_param." + field, field + " needs a scale of 2, not " + std::to_string(scale),
                     "set the size by upsample_h and upsample_w");
  return std::max<int64_t>(0, checked_mul(in, scale) - 1);
}

UnpoolSize upsampled_size(const UnpoolOptions& param, const Shape& x) {
  if (param.has_upsample_h()) return {param.upsample_h(), param.upsample_w()};
  const UpsampleScale scale = upsample_scale(param);
  return {scaled_up(x[2], scale.h, param.pad_out_h(), "pad_out_h"),
          scaled_up(x[3], scale.w, param.pad_out_w(), "pad_out_w")};
}

}  // namespace

std::unique_ptr<Layer> make_unpool(const UnpoolRule& rule) { return std::make_unique<UnpoolLayer>(rule); }

std::unique_ptr<Layer> make_unpool(const LayerOptions& options) {
  const UnpoolOptions& param = options.config.upsample_param();
  if (param.has_upsample_h() != param.has_upsample_w())
    throw FieldError(param.has_upsample_h() ? "upsample_param.upsample_h" : "upsample_param.upsample_w",
                     "only one side is set", "set upsample_h and upsample_w, or a scale");
  require_upsample_size(param.has_upsample_h() && param.upsample_h() == 0, "upsample_h");
  require_upsample_size(param.has_upsample_w() && param.upsample_w() == 0, "upsample_w");
  return make_unpool(UnpoolRule{.type = "Upsample",
                                .size = [&param](const Shape& x) { return upsampled_size(param, x); },
                                .advice = "set upsample_h and upsample_w to the size of the pooling's bottom"});
}

}  // namespace cortado
