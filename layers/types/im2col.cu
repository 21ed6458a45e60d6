// Im2col: unrolls the patch under a convolution window at each output position into channels. y is N x (C kernels) x
// out; channel (c, i, j) at position (h, w) is x[c] at (h stride - pad + i dilation, w stride - pad + j dilation), and
// 0 outside x. Other numbers of axes work likewise. Backward (col2im) sums, for each element of x, the gradients of all
// windows that contain it. As in Caffe, only the window fields of convolution_param apply; the fields of filters are
// ignored.

#include "core/error.h"
#include "kernels/conv_lines.h"
#include "layers/common/loops/typed.h"
#include "layers/common/shape_rules.h"
#include "layers/common/windows/conv_window.h"
#include "layers/registry.h"

namespace cortado {

namespace {

using kernels::ConvLines;
using kernels::ConvPlaces;

/// A row of y runs along w.
template <typename T>
struct Im2colForward {
  const T* x;
  T* y;
  ConvLines lines;
  ConvPlaces w;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t k = row / lines.out, tap = k / w.kernel, plane = tap / lines.kernel;
    const int64_t line = lines.input(row % lines.out, tap % lines.kernel), at = w.input(i - row * w.out, k % w.kernel);
    y[i] = line >= 0 && at >= 0 ? float(x[(plane * lines.in + line) * w.in + at]) : 0.0f;
  }
};

/// A row of dx runs along w.
template <typename T>
struct Im2colBackward {
  const T* dy;
  T* dx;
  ConvLines lines;
  ConvPlaces w;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t plane = row / lines.in;
    float sum = 0;
    for (int64_t tap = 0; tap < lines.kernel; ++tap) {
      const int64_t line = lines.output(row % lines.in, tap);
      for (int64_t k = 0; line >= 0 && k < w.kernel; ++k) {
        const int64_t place = w.output(i - row * w.in, k);
        if (place < 0) continue;
        const int64_t channel = (plane * lines.kernel + tap) * w.kernel + k;
        sum += float(dy[(channel * lines.out + line) * w.out + place]);
      }
    }
    dx[i] = sum;
  }
};

class Im2colLayer : public Layer {
 public:
  explicit Im2colLayer(const LayerOptions& options)
      : window_(options.config.convolution_param(), /*has_filters=*/false) {
    if (options.config.convolution_param().relu())
      throw FieldError("convolution_param.relu", "Im2col does not support a fused ReLU", "add a ReLU layer after it");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const std::vector<kernels::ConvAxis> axes = window_.axes_for(x[0], "bottom[0]");
    window_.check_kernel_fits(axes);
    std::vector<int64_t> places, columns = {x[0][window_.channel_axis(x[0], "bottom[0]")]};
    for (const kernels::ConvAxis& axis : axes) {
      places.push_back(axis.out());
      columns.push_back(axis.kernel);
    }
    const Shape y = window_.replaced(x[0], count_of_elements(Shape(columns), "convolution_param.kernel_size"), places);
    count_of_elements(y, "convolution_param.kernel_size");
    lines_ = ConvLines(window_.shape_for(x[0], axes));
    w_ = ConvPlaces(axes.back());
    return {.y = {y}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    const ChannelView rows{1, io.y[0].count() / w_.out, w_.out, Layout::kPlain};
    for_each_channel_typed<Im2colForward>(context, rows, io.x[0], io.y[0], lines_, w_);
  }

  void backward(Context& context, const Operands& io) override {
    const ChannelView rows{1, w_.in > 0 ? io.dx[0].count() / w_.in : 0, w_.in, Layout::kPlain};
    for_each_channel_typed<Im2colBackward>(context, rows, io.dy[0], io.dx[0], lines_, w_);
  }

 private:
  ConvWindow window_;
  ConvLines lines_{kernels::ConvShape()};
  ConvPlaces w_;
};

const RegisterLayer register_im2col({
    .name = "Im2col",
    .help = "the patch under each convolution window, as channels",
    .options = "convolution_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<Im2colLayer>,
    .family = LayerFamily::kConvolution,
});

}  // namespace

}  // namespace cortado
