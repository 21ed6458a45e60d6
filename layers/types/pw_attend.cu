// PwAttend (pixel-wise attention of PiCANet, Liu et al. 2018): each position of y is a weighted sum of a window of x,
// with weights of its own. For features x, N x C x H x W, and weights a, N x K^2 x H' x W', with K = kernel_size,
//     y_c(i, j) = sum over u, v < K of a_(uK+v)(i, j) x_c(r + u dilation, s + v dilation)
// where x is 0 outside. LOCAL: the window of each position begins at r = i stride - pad, s = j stride - pad, as in a
// convolution. GLOBAL: it is one for all positions, from (-pad, -pad) on, and covers the map.
//
// PwAttend is an early form of PiCANet's AttPooling; its definition is that of AttPooling, by the same author.

#include "core/error.h"
#include "core/loops/for_each.h"
#include "layers/registry.h"

namespace cortado {

namespace {

constexpr uint32_t kMaxWindow = 1 << 15, kMaxStep = 1 << 20;

struct AttentionWindow {
  int64_t channels, height, width;  ///< of x
  int64_t rows, columns;            ///< of y
  int64_t size, pad, stride, dilation;
  bool global;

  CORTADO_HD int64_t area() const { return height * width; }
  CORTADO_HD int64_t places() const { return rows * columns; }
  CORTADO_HD int64_t weights() const { return size * size; }
  /// The position in a map of x that weight k of a place has; below 0: outside.
  CORTADO_HD int64_t source(int64_t place, int64_t k) const {
    const int64_t step = global ? 0 : stride;
    const int64_t r = place / columns * step - pad + k / size * dilation;
    const int64_t s = place % columns * step - pad + k % size * dilation;
    return r >= 0 && r < height && s >= 0 && s < width ? r * width + s : -1;
  }
  /// The row or column of y whose window has `at` as its number u; below 0: none. Not for global windows.
  CORTADO_HD int64_t reader(int64_t at, int64_t u, int64_t count) const {
    const int64_t begin = at + pad - u * dilation;
    return begin >= 0 && begin % stride == 0 && begin / stride < count ? begin / stride : -1;
  }
};

struct AttendForward {
  const float *x, *a;
  float* y;
  AttentionWindow window;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t places = window.places(), plane = i / places, place = i % places, n = plane / window.channels;
    float sum = 0;
    for (int64_t k = 0; k < window.weights(); ++k) {
      const int64_t from = window.source(place, k);
      if (from >= 0) sum += a[(n * window.weights() + k) * places + place] * x[plane * window.area() + from];
    }
    y[i] = sum;
  }
};

struct AttendWeightGradient {
  const float *x, *dy;
  float* da;
  AttentionWindow window;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t places = window.places(), place = i % places, k = i / places % window.weights();
    const int64_t n = i / places / window.weights(), from = window.source(place, k);
    float sum = 0;
    for (int64_t c = 0; c < window.channels && from >= 0; ++c) {
      const int64_t plane = n * window.channels + c;
      sum += dy[plane * places + place] * x[plane * window.area() + from];
    }
    da[i] = sum;
  }
};

struct AttendFeatureGradient {
  const float *a, *dy;
  float* dx;
  AttentionWindow window;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t plane = i / window.area(), from = i % window.area(), n = plane / window.channels;
    dx[i] = window.global ? of_all(plane, n, from) : of_windows(plane, n, from);
  }

 private:
  CORTADO_HD float term(int64_t plane, int64_t n, int64_t k, int64_t place) const {
    return a[(n * window.weights() + k) * window.places() + place] * dy[plane * window.places() + place];
  }
  CORTADO_HD float of_windows(int64_t plane, int64_t n, int64_t from) const {
    float sum = 0;
    for (int64_t k = 0; k < window.weights(); ++k) {
      const int64_t i = window.reader(from / window.width, k / window.size, window.rows);
      const int64_t j = window.reader(from % window.width, k % window.size, window.columns);
      if (i >= 0 && j >= 0) sum += term(plane, n, k, i * window.columns + j);
    }
    return sum;
  }
  CORTADO_HD float of_all(int64_t plane, int64_t n, int64_t from) const {
    const int64_t r = from / window.width + window.pad, s = from % window.width + window.pad;
    if (r % window.dilation != 0 || s % window.dilation != 0) return 0;
    const int64_t k = r / window.dilation * window.size + s / window.dilation;
    float sum = 0;
    for (int64_t place = 0; place < window.places(); ++place) sum += term(plane, n, k, place);
    return sum;
  }
};

class PwAttendLayer : public Layer {
 public:
  PwAttendLayer(const caffe::PwAttendParameter& options, std::string field)
      : options_(options), field_(std::move(field)) {
    const auto require = [&](const char* name, uint32_t value, uint32_t least, uint32_t most) {
      if (value < least || value > most)
        throw FieldError(field_ + "." + name, "it is " + std::to_string(value) + ", but must lie between " +
                                                  std::to_string(least) + " and " + std::to_string(most));
    };
    if (options_.has_kernel_size()) require("kernel_size", options_.kernel_size(), 1, kMaxWindow);
    require("pad", options_.pad(), 0, kMaxStep);
    require("stride", options_.stride(), 1, kMaxStep);
    require("dilation", options_.dilation(), 1, kMaxStep);
    if (!is_global() && !options_.has_kernel_size())
      throw FieldError(field_, "kernel_size is missing", "set the width of the windows");
    if (is_global() && options_.stride() != 1)
      throw FieldError(field_ + ".stride", "it is " + std::to_string(options_.stride()) + ", but there is one window",
                       "remove it, or set att_mode: LOCAL");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    for (size_t i = 0; i < 2; ++i)
      if (x[i].axes() != 4)
        throw FieldError(i == 0 ? "bottom[0]" : "bottom[1]", "its shape is " + x[i].str() + ", but must have 4 axes");
    const int64_t size = options_.has_kernel_size() ? options_.kernel_size() : x[0][3];
    window_ = {.channels = x[0][1],
               .height = x[0][2],
               .width = x[0][3],
               .rows = x[1][2],
               .columns = x[1][3],
               .size = size,
               .pad = options_.pad(),
               .stride = options_.stride(),
               .dilation = options_.dilation(),
               .global = is_global()};
    require_window(x[0]);
    if (x[1][0] != x[0][0] || x[1][1] != size * size)
      throw FieldError("bottom[1]",
                       "its shape is " + x[1].str() + ", but bottom[0] has " + std::to_string(x[0][0]) +
                           " images, and windows have " + std::to_string(size * size) + " positions",
                       "give each position of a window a weight, along axis 1");
    return {.y = {{x[0][0], x[0][1], x[1][2], x[1][3]}}, .w = {}};
  }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {request.wants_dx[1], request.wants_dx[0]};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each(context, io.y[0].count(), AttendForward{io.x[0].f32(), io.x[1].f32(), io.y[0].f32(), window_});
  }

  void backward(Context& context, const Operands& io) override {
    const float* dy = io.dy[0].f32();
    if (io.dx[0])
      for_each(context, io.dx[0].count(), AttendFeatureGradient{io.x[1].f32(), dy, io.dx[0].f32(), window_});
    if (io.dx[1]) for_each(context, io.dx[1].count(), AttendWeightGradient{io.x[0].f32(), dy, io.dx[1].f32(), window_});
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override {
    return checked_mul(y[0].count(), 2 * window_.weights());
  }

 private:
  bool is_global() const { return options_.att_mode() == caffe::PwAttendParameter::GLOBAL; }

  /// Whether the windows fit the maps.
  void require_window(const Shape& x) const {
    const int64_t extent = window_.dilation * (window_.size - 1) + 1;
    const int64_t sides[] = {window_.height, window_.width}, counts[] = {window_.rows, window_.columns};
    for (int i = 0; i < 2; ++i) {
      const int64_t room = sides[i] + 2 * window_.pad - extent;
      if (is_global() && room != 0)
        throw FieldError("bottom[0]",
                         "its shape is " + x.str() + ", but the window of all positions extends over " +
                             std::to_string(extent) + " rows and columns, of a padded map of " +
                             std::to_string(sides[i] + 2 * window_.pad),
                         "remove kernel_size; maps must be square");
      if (!is_global() && (room < 0 || room / window_.stride + 1 != counts[i]))
        throw FieldError("bottom[1]", "it has " + std::to_string(counts[i]) + (i == 0 ? " rows" : " columns") +
                                          ", but bottom[0] has " +
                                          std::to_string(room < 0 ? 0 : room / window_.stride + 1) +
                                          " windows along this side");
    }
  }

  const caffe::PwAttendParameter& options_;
  std::string field_;
  AttentionWindow window_{};
};

std::unique_ptr<Layer> make_pw_attend(const LayerOptions& options) {
  return std::make_unique<PwAttendLayer>(options.config.pw_attend_param(), "pw_attend_param");
}

std::unique_ptr<Layer> make_att_pooling(const LayerOptions& options) {
  return std::make_unique<PwAttendLayer>(options.config.att_pooling_param(), "att_pooling_param");
}

const RegisterLayer register_pw_attend({
    .name = "PwAttend",
    .help = "sums over windows with weights for each position (an early form of AttPooling)",
    .options = "pw_attend_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_pw_attend,
});

const RegisterLayer register_att_pooling({
    .name = "AttPooling",
    .help = "sums over windows with weights for each position (PiCANet)",
    .options = "att_pooling_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_att_pooling,
    .alias_of = "PwAttend",
});

}  // namespace

}  // namespace cortado
