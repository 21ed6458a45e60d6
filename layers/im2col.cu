// Im2col: what a convolution's window sees at each of its places, as channels: y is N x (C kernels) x out, channel
// (c, i, j) of place (h, w) being x[c] at h stride - pad + i dilation, w stride - pad + j dilation, and 0 outside of x.
// Backward gathers, for each element of x, the gradients of all windows that saw it.
// Of convolution_param it looks at the window alone, not at what is said of filters, as in Caffe.

#include "core/error.h"
#include "layers/conv_window.h"
#include "layers/registry.h"
#include "layers/shape_rules.h"
#include "layers/typed.h"

namespace cortado {

namespace {

/// One axis: `out` places of a window over `in` elements.
struct Axis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, pad = 0, dilation = 1;

  CORTADO_HD int64_t seen(int64_t place, int64_t k) const { return place * stride - pad + k * dilation; }
  /// The place whose window sees element `at` by its element k, or -1.
  CORTADO_HD int64_t place(int64_t at, int64_t k) const {
    const int64_t start = at + pad - k * dilation;
    return start >= 0 && start % stride == 0 && start / stride < out ? start / stride : -1;
  }
};

/// Rows of y are those along w.
template <typename T>
struct Forward {
  const T* x;
  T* y;
  Axis h, w;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t k = row / h.out, plane = k / w.kernel / h.kernel;
    const int64_t at_h = h.seen(row % h.out, k / w.kernel % h.kernel), at_w = w.seen(i - row * w.out, k % w.kernel);
    const bool inside = at_h >= 0 && at_h < h.in && at_w >= 0 && at_w < w.in;
    y[i] = inside ? float(x[(plane * h.in + at_h) * w.in + at_w]) : 0.0f;
  }
};

/// Rows of dx are those along w.
template <typename T>
struct Backward {
  const T* dy;
  T* dx;
  Axis h, w;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const int64_t plane = row / h.in;
    float sum = 0;
    for (int64_t k_h = 0; k_h < h.kernel; ++k_h) {
      const int64_t place_h = h.place(row % h.in, k_h);
      for (int64_t k_w = 0; place_h >= 0 && k_w < w.kernel; ++k_w) {
        const int64_t place_w = w.place(i - row * w.in, k_w);
        if (place_w < 0) continue;
        const int64_t channel = (plane * h.kernel + k_h) * w.kernel + k_w;
        sum += float(dy[(channel * h.out + place_h) * w.out + place_w]);
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
      throw FieldError("convolution_param.relu", "Im2col has no ReLU within", "write a ReLU layer behind it");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const std::vector<kernels::ConvAxis> axes = window_.axes_for(x[0], "bottom[0]");
    window_.check_kernel_fits(axes);
    const kernels::ConvAxis h = axes.size() > 1 ? axes[0] : kernels::ConvAxis(), w = axes.back();
    h_ = {h.in, h.out(), h.kernel, h.stride, h.pad, h.dilation};
    w_ = {w.in, w.out(), w.kernel, w.stride, w.pad, w.dilation};
    Shape y = x[0];
    y[1] = count_of_elements({y[1], h.kernel, w.kernel}, "convolution_param.kernel_size");
    for (int i = 0; i < int(axes.size()); ++i) y[i + 2] = axes[size_t(i)].out();
    count_of_elements(y, "convolution_param.kernel_size");
    return {.y = {y}, .w = {}};
  }

  TypeRule types() const override { return TypeRule::kFollow; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    const ChannelView rows{1, io.y[0].count() / w_.out, w_.out, Layout::kPlain};
    for_each_channel_typed<Forward>(context, rows, io.x[0], io.y[0], h_, w_);
  }

  void backward(Context& context, const Operands& io) override {
    const ChannelView rows{1, w_.in > 0 ? io.dx[0].count() / w_.in : 0, w_.in, Layout::kPlain};
    for_each_channel_typed<Backward>(context, rows, io.dy[0], io.dx[0], h_, w_);
  }

 private:
  ConvWindow window_;
  Axis h_, w_;
};

const RegisterLayer registered({
    .name = "Im2col",
    .help = "what a convolution's window sees, as channels",
    .options = "convolution_param",
    .least_x = 1,
    .most_x = 1,
    .least_y = 1,
    .most_y = 1,
    .make = make_layer<Im2colLayer>,
});

}  // namespace

}  // namespace cortado
