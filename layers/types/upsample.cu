// Upsample: repeats each value scale (scale_h x scale_w) times along the last two axes. Backward sums the gradients of
// the copies. With a second bottom it is another layer (layers/types/unpool.cu).

#include "core/error.h"
#include "layers/common/loops/lanes.h"
#include "layers/common/loops/typed.h"
#include "layers/registry.h"
#include "layers/types/unpool.h"

namespace cortado {

namespace {

/// The copies of one element of x. A row of x runs along w and is `lanes` channels wide.
struct Copies {
  int64_t h, w;          ///< copies along each axis
  int64_t width, lanes;  ///< elements of a row of x; contiguous channels

  CORTADO_HD int64_t first(int64_t i, int64_t row) const {
    const int64_t place = i - row * width;
    return row * h * pitch() + place + place / lanes * lanes * (w - 1);
  }
  CORTADO_HD int64_t pitch() const { return width * w; }  ///< stride of the rows of y
};

template <typename T>
struct UpsampleForward {
  const T* x;
  T* y;
  Copies copies;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const T value = x[i];
    T* to = y + copies.first(i, row);
    for (int64_t h = 0; h < copies.h; ++h)
      for (int64_t w = 0; w < copies.w; ++w) to[h * copies.pitch() + w * copies.lanes] = value;
  }
};

template <typename T>
struct UpsampleBackward {
  const T* dy;
  T* dx;
  Copies copies;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const T* from = dy + copies.first(i, row);
    float sum = 0;
    for (int64_t h = 0; h < copies.h; ++h)
      for (int64_t w = 0; w < copies.w; ++w) sum += float(from[h * copies.pitch() + w * copies.lanes]);
    dx[i] = sum;
  }
};

class UpsampleLayer : public Layer {
 public:
  explicit UpsampleLayer(const LayerOptions& options) : scale_(upsample_scale(options.config.upsample_param())) {
    const caffe::UpsampleParameter& param = options.config.upsample_param();
    refuse(param.has_upsample_h(), "upsample_h");
    refuse(param.has_upsample_w(), "upsample_w");
    refuse(param.pad_out_h(), "pad_out_h");
    refuse(param.pad_out_w(), "pad_out_w");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; Upsample needs N x C x H x W");
    return {.y = {{x[0][0], x[0][1], checked_mul(x[0][2], scale_.h), checked_mul(x[0][3], scale_.w)}}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow, .type = TypeRule::kFollow};
  }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.can_recompute_y = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_channel_typed<UpsampleForward>(context, rows(io.x[0]), io.x[0], io.y[0], copies(io.x[0]));
  }

  void backward(Context& context, const Operands& io) override {
    for_each_channel_typed<UpsampleBackward>(context, rows(io.dx[0]), io.dy[0], io.dx[0], copies(io.dx[0]));
  }

 private:
  static void refuse(bool given, const std::string& field) {
    if (given)
      throw FieldError("upsample_param." + field, field + " is only for the inverse of a pooling",
                       "use the pooling's second top as the second bottom, or remove it");
  }

  Copies copies(const Tensor& x) const {
    const int64_t lanes = lanes_of(x.spec);
    return {scale_.h, scale_.w, x.shape()[3] * lanes, lanes};
  }

  ChannelView rows(const Tensor& x) const {
    const int64_t width = copies(x).width;
    return {1, width == 0 ? 0 : x.spec.elements() / width, width, Layout::kPlain};
  }

  UpsampleScale scale_;
};

std::unique_ptr<Layer> make_upsample(const LayerOptions& options) {
  if (options.config.bottom_size() == 2) return make_unpool(options);
  return std::make_unique<UpsampleLayer>(options);
}

const RegisterLayer register_upsample({
    .name = "Upsample",
    .help = "repeats each value along height and width; with a pooling's mask, the inverse of that pooling",
    .options = "upsample_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_upsample,
    .family = LayerFamily::kPooling,
});

}  // namespace

UpsampleScale upsample_scale(const caffe::UpsampleParameter& param) {
  const std::string message = "upsample_param.";
  const char* one_side = param.has_scale_h() ? "scale_h" : "scale_w";
  const bool sides = param.has_scale_h() || param.has_scale_w();
  if (sides && param.has_scale())
    throw FieldError(message + one_side, std::string(one_side) + " contradicts scale",
                     "set either scale, or scale_h and scale_w");
  if (param.has_scale_h() != param.has_scale_w())
    throw FieldError(message + one_side, "only one side's scale is set", "set scale_h and scale_w, or scale for both");
  const auto checked = [&](uint32_t scale, const std::string& field) {
    if (scale == 0) throw FieldError(message + field, field + " is 0", "set it to at least 1");
    return int64_t(scale);
  };
  if (!sides) return {checked(param.scale(), "scale"), param.scale()};
  return {checked(param.scale_h(), "scale_h"), checked(param.scale_w(), "scale_w")};
}

}  // namespace cortado
