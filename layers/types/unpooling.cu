// Unpooling (DeconvNet, Noh, Hong and Han 2015): the inverse of a max pooling. With a mask, the pooling's second top, a
// value goes to the position of its maximum (layers/types/unpool.cu). Without one it goes to the upper left corner of
// its window, (stride_h h, stride_w w), limited to the last row and column of y; of several values at one position the
// last wins. y is 0 elsewhere and has unpool_size or unpool_h x unpool_w elements in each plane. As in DeconvNet only a
// padding of 0 is supported, and kernel_size has no effect: the windows of the pooling are in the mask. unpool: AVE and
// TILE, which later versions have, are not supported.

#include <algorithm>

#include "core/error.h"
#include "layers/common/loops/typed.h"
#include "layers/registry.h"
#include "layers/types/unpool.h"

namespace cortado {

namespace {

using UnpoolingOptions = caffe::UnpoolingParameter;

/// One axis without a mask.
struct UnpoolingSide {
  int64_t in, out, stride;

  CORTADO_HD int64_t target(int64_t i) const { return i * stride < out ? i * stride : out - 1; }
  /// The last i whose target is o, or -1.
  CORTADO_HD int64_t source(int64_t o) const {
    if (o == out - 1 && (in - 1) * stride >= o) return in - 1;
    return o % stride == 0 && o / stride < in ? o / stride : -1;
  }
};

struct UnpoolingSides {
  UnpoolingSide h, w;
};

template <typename T>
struct CornersForward {
  const T* x;
  T* y;
  UnpoolingSides sides;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t h = sides.h.source(row % sides.h.out), w = sides.w.source(i - row * sides.w.out);
    y[i] = h < 0 || w < 0 ? 0.0f : float(x[(row / sides.h.out * sides.h.in + h) * sides.w.in + w]);
  }
};

template <typename T>
struct CornersBackward {
  T* dx;
  const T* dy;
  UnpoolingSides sides;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t own_h = row % sides.h.in, own_w = i - row * sides.w.in;
    const int64_t h = sides.h.target(own_h), w = sides.w.target(own_w);
    const bool wins = sides.h.source(h) == own_h && sides.w.source(w) == own_w;
    dx[i] = wins ? float(dy[(row / sides.h.in * sides.h.out + h) * sides.w.out + w]) : 0.0f;
  }
};

/// Without a mask.
class CornerUnpoolingLayer : public Layer {
 public:
  CornerUnpoolingLayer(const UnpoolSize& size, const UnpoolSize& stride) : size_(size), stride_(stride) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; Unpooling needs N x C x H x W");
    sides_ = {{x[0][2], size_.h, stride_.h}, {x[0][3], size_.w, stride_.w}};
    return {.y = {{x[0][0], x[0][1], size_.h, size_.w}}, .w = {}};
  }
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    for_each_channel_typed<CornersForward>(context, rows_of_plane(io.y[0]), io.x[0], io.y[0], sides_);
  }
  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) for_each_channel_typed<CornersBackward>(context, rows_of_plane(io.dx[0]), io.dx[0], io.dy[0], sides_);
  }

 private:
  static ChannelView rows_of_plane(const Tensor& tensor) {
    return {1, tensor.shape().count(0, 3), tensor.shape()[3], Layout::kPlain};
  }

  UnpoolSize size_, stride_;
  UnpoolingSides sides_{};
};

void refuse_unpooling(bool wrong, const std::string& field, const std::string& message, const std::string& hint) {
  if (wrong) throw FieldError(field.empty() ? "unpooling_param" : "unpooling_param." + field, message, hint);
}

void check_unpooling(const UnpoolingOptions& o) {
  refuse_unpooling(o.unpool() != UnpoolingOptions::MAX, "unpool", "only MAX is supported",
                   "use Upsample, or a Deconvolution with constant weights");
  for (const auto& [name, value] : {std::pair("pad", o.pad()), {"pad_h", o.pad_h()}, {"pad_w", o.pad_w()}})
    refuse_unpooling(value != 0, name, "the padding is " + std::to_string(value) + ", but only 0 is supported",
                     "remove it");
  const bool sides = o.has_unpool_h() || o.has_unpool_w();
  refuse_unpooling(!sides && !o.has_unpool_size(), "", "the size of y is missing", "set unpool_size");
  refuse_unpooling(sides && o.has_unpool_size(), "unpool_size", "it contradicts unpool_h and unpool_w",
                   "set either unpool_size, or the two sides");
  refuse_unpooling(o.has_unpool_h() != o.has_unpool_w(), o.has_unpool_h() ? "unpool_h" : "unpool_w",
                   "only one side is set", "set unpool_h and unpool_w, or unpool_size");
  const bool strides = o.has_stride_h() || o.has_stride_w();
  refuse_unpooling(strides && o.has_stride(), "stride", "it contradicts stride_h and stride_w",
                   "set either stride, or the two sides");
}

/// The value of either side.
UnpoolSize unpooling_sides(const std::string& name, uint32_t both, bool has_h, uint32_t h, bool has_w, uint32_t w) {
  const UnpoolSize sides = {has_h ? h : both, has_w ? w : both};
  refuse_unpooling(sides.h == 0,
                   name + (has_h              ? "_h"
                           : has_w            ? "_w"
                           : name == "unpool" ? "_size"
                                              : ""),
                   "it is 0", "set it to at least 1");
  refuse_unpooling(sides.w == 0,
                   name + (has_w              ? "_w"
                           : name == "unpool" ? "_size"
                                              : ""),
                   "it is 0", "set it to at least 1");
  return sides;
}

std::unique_ptr<Layer> make_unpooling(const LayerOptions& options) {
  const UnpoolingOptions& o = options.config.unpooling_param();
  check_unpooling(o);
  const UnpoolSize size =
      unpooling_sides("unpool", o.unpool_size(), o.has_unpool_h(), o.unpool_h(), o.has_unpool_w(), o.unpool_w());
  const UnpoolSize stride =
      unpooling_sides("stride", o.stride(), o.has_stride_h(), o.stride_h(), o.has_stride_w(), o.stride_w());
  if (options.config.bottom_size() == 1) return std::make_unique<CornerUnpoolingLayer>(size, stride);
  return make_unpool(UnpoolRule{.type = "Unpooling",
                                .size = [size](const Shape&) { return size; },
                                .advice = "set unpool_size to the size of the pooling's bottom"});
}

const RegisterLayer register_unpooling({
    .name = "Unpooling",
    .help = "the inverse of a max pooling, by its mask (DeconvNet)",
    .options = "unpooling_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_unpooling,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado
