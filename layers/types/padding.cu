// Padding: DeepLab's zero padding of images: pad_beg rows and columns above and left, pad_end below and right. Negative
// values crop. x is N x C x H x W.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// Copies rows between padded and unpadded images, offset by `before` rows and columns.
template <typename T>
struct PaddingPlace {
  const T* from;
  T* to;
  int64_t from_h, from_w, to_h, to_w, before;

  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t h = row % to_h - before, w = i - row * to_w - before;
    const bool inside = h >= 0 && h < from_h && w >= 0 && w < from_w;
    to[i] = inside ? float(from[(row / to_h * from_h + h) * from_w + w]) : 0.0f;
  }
};

class PaddingLayer : public Layer {
 public:
  explicit PaddingLayer(const LayerOptions& options) : param_(options.config.padding_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[0].axes() != 4) throw FieldError("bottom[0]", "its shape is " + x[0].str() + "; Padding needs N x C x H x W");
    Shape y = x[0];
    const int64_t begin = param_.pad_beg(), end = param_.pad_end();
    const std::string field = param_.has_pad_beg() ? "padding_param.pad_beg" : "padding_param.pad_end";
    for (const int axis : {2, 3}) {
      y[axis] = x[0][axis] + begin + end;
      if (y[axis] < 1)
        throw FieldError(field, std::to_string(x[0][axis]) + " + " + std::to_string(begin) + " + " +
                                    std::to_string(end) + " leaves nothing of axis " + std::to_string(axis) + " of " +
                                    x[0].str());
    }
    count_of_elements(y, field);
    return {.y = {y}, .w = {}};
  }
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }
  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override { place(context, io.x[0], io.y[0], param_.pad_beg()); }
  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) place(context, io.dy[0], io.dx[0], -int64_t(param_.pad_beg()));
  }

 private:
  static void place(Context& context, const Tensor& from, const Tensor& to, int64_t before) {
    const Shape &f = from.shape(), &t = to.shape();
    const ChannelView rows{1, t.count(0, 3), t[3], Layout::kPlain};
    for_each_channel_typed<PaddingPlace>(context, rows, from, to, f[2], f[3], t[2], t[3], before);
  }

  const caffe::PaddingParameter& param_;
};

const RegisterLayer register_padding({
    .name = "Padding",
    .help = "zero padding of images; negative padding crops",
    .options = "padding_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<PaddingLayer>,
});

}  // namespace

}  // namespace cortado
