// Interp: bilinear resizing with aligned corners: along an axis, y[i] is interpolated at i (in - 1) / (out - 1) of x
// from the two elements around that position. Backward gathers the weighted gradients for each element of dx.
//
// The size of y is height and width; or (in - 1) / shrink_factor + 1, rounded down, and of that, or of x, in + (in - 1)
// (zoom_factor - 1); or that of a second bottom, whose values are ignored. pad_beg and pad_end, never above 0, crop x
// first. Missing trailing axes of x have an extent of 1.

#include "core/error.h"
#include "core/text/text.h"
#include "layers/common/loops/lanes.h"
#include "layers/common/loops/typed.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// One axis: x has `whole` elements, of which `in` from `start` on are used.
struct InterpSide {
  int64_t whole, start, in, out;

  /// The position in x advances by `step()` / `length()` for each element of y.
  CORTADO_HD int64_t step() const { return in - 1; }
  CORTADO_HD int64_t length() const { return out > 1 ? out - 1 : 1; }

  /// The elements of y that depend on element `at` of the cropped x.
  CORTADO_HD int64_t first(int64_t at) const { return at == 0 || step() == 0 ? 0 : (at - 1) * length() / step() + 1; }
  CORTADO_HD int64_t end(int64_t at) const {
    if (step() == 0) return out;
    const int64_t end = ((at + 1) * length() - 1) / step() + 1;
    return end < out ? end : out;
  }
  CORTADO_HD float share(int64_t place, int64_t at) const {
    const int64_t distance = place * step() - at * length();
    return 1 - float(distance < 0 ? -distance : distance) / float(length());
  }
};

/// The source of element `place` of y: between `low` and `high`, at fraction `share`.
struct InterpBetween {
  int64_t low, high;
  float share;

  CORTADO_HD InterpBetween(const InterpSide& side, int64_t place) {
    const double at = double(place) * (double(side.step()) / double(side.length()));
    const int64_t floor = int64_t(at);
    share = float(at - double(floor));
    low = side.start + floor;
    high = low + (floor < side.step() ? 1 : 0);
  }
};

/// Both tensors as images whose pixels have `lanes` channels. A row runs along w if lanes is 1, else over one pixel.
struct InterpImages {
  InterpSide h, w;
  int64_t lanes;

  struct Place {
    int64_t image, h, w, lane;
  };
  CORTADO_HD static Place place(int64_t i, int64_t row, int64_t height, int64_t width, int64_t lanes) {
    const int64_t line = lanes == 1 ? row : row / width;
    const int64_t in_row = i - row * (lanes == 1 ? width : lanes);
    return {line / height, line % height, lanes == 1 ? in_row : row % width, lanes == 1 ? 0 : in_row};
  }
  CORTADO_HD Place in_x(int64_t i, int64_t row) const { return place(i, row, h.whole, w.whole, lanes); }
  CORTADO_HD Place in_y(int64_t i, int64_t row) const { return place(i, row, h.out, w.out, lanes); }
  CORTADO_HD int64_t x_at(int64_t image, int64_t at_h, int64_t at_w, int64_t lane) const {
    return ((image * h.whole + at_h) * w.whole + at_w) * lanes + lane;
  }
  CORTADO_HD int64_t y_at(int64_t image, int64_t at_h, int64_t at_w, int64_t lane) const {
    return ((image * h.out + at_h) * w.out + at_w) * lanes + lane;
  }
};

template <typename T>
struct InterpForward {
  const T* x;
  T* y;
  InterpImages images;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const InterpImages::Place to = images.in_y(i, row);
    const InterpBetween h(images.h, to.h), w(images.w, to.w);
    const auto along_w = [&](int64_t at_h) {
      const float low = x[images.x_at(to.image, at_h, w.low, to.lane)];
      const float high = x[images.x_at(to.image, at_h, w.high, to.lane)];
      return low + w.share * (high - low);
    };
    const float low = along_w(h.low), high = along_w(h.high);
    y[i] = low + h.share * (high - low);
  }
};

template <typename T>
struct InterpBackward {
  const T* dy;
  T* dx;
  InterpImages images;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const InterpImages::Place to = images.in_x(i, row);
    const InterpSide &h = images.h, &w = images.w;
    const int64_t at_h = to.h - h.start, at_w = to.w - w.start;
    float sum = 0;
    if (at_h >= 0 && at_h < h.in && at_w >= 0 && at_w < w.in)
      for (int64_t p = h.first(at_h); p < h.end(at_h); ++p) {
        float line = 0;
        for (int64_t q = w.first(at_w); q < w.end(at_w); ++q)
          line += w.share(q, at_w) * float(dy[images.y_at(to.image, p, q, to.lane)]);
        sum += h.share(p, at_h) * line;
      }
    dx[i] = sum;
  }
};

class InterpLayer : public Layer {
 public:
  explicit InterpLayer(const LayerOptions& options) : param_(options.config.interp_param()) {
    refuse_below(1, param_.shrink_factor(), "shrink_factor");
    refuse_below(1, param_.zoom_factor(), "zoom_factor");
    if (param_.has_height()) refuse_below(1, param_.height(), "height");
    if (param_.has_width()) refuse_below(1, param_.width(), "width");
    for (const bool begin : {true, false})
      if ((begin ? param_.pad_beg() : param_.pad_end()) > 0)
        throw FieldError(path(begin ? "pad_beg" : "pad_end"), "it must not be above 0: it crops x",
                         "use a Pooling or Convolution layer to pad");
    check_one_way(options.config.bottom_size() > 1);
  }

  LayerShapes infer(const std::vector<Shape>& given) override {
    std::vector<Shape> x;
    for (size_t i = 0; i < given.size(); ++i) x.push_back(of_four_axes(given[i], i));
    Shape y = x[0];
    for (const int axis : {2, 3}) {
      const InterpSide side = seen(x[0], axis);
      y[axis] = x.size() > 1 ? x[1][axis] : resized(side.in, axis == 2 ? param_.height() : param_.width());
      (axis == 2 ? h_ : w_) = {side.whole, side.start, side.in, y[axis]};
    }
    return {.y = {y}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow, .type = TypeRule::kFollow};
  }
  bool differentiable(int i) const override { return i == 0; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    for_each_channel_typed<InterpForward>(context, rows(io.y[0], w_.out), io.x[0], io.y[0], images(io.y[0]));
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each_channel_typed<InterpBackward>(context, rows(io.dx[0], w_.whole), io.dy[0], io.dx[0], images(io.dx[0]));
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override { return 6 * y[0].count(); }

 private:
  static std::string path(const std::string& field) { return "interp_param" + (field.empty() ? "" : "." + field); }

  static void refuse_below(int64_t least, int64_t value, const std::string& field) {
    if (value < least)
      throw FieldError(path(field), field + " is " + std::to_string(value),
                       "it must be at least " + std::to_string(least));
  }

  /// Missing trailing axes have an extent of 1, as in Caffe's legacy blobs.
  static Shape of_four_axes(const Shape& shape, size_t bottom) {
    if (shape.axes() > 4)
      throw FieldError(entry("bottom", int64_t(bottom)),
                       "its shape is " + shape.str() + "; Interp needs N x C x H x W");
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims.resize(4, 1);
    return Shape(dims);
  }

  bool by_size() const { return param_.has_height() || param_.has_width(); }
  bool by_factors() const { return param_.has_shrink_factor() || param_.has_zoom_factor(); }

  void check_one_way(bool by_bottom) const {
    if (param_.has_height() != param_.has_width())
      throw FieldError(path(param_.has_height() ? "height" : "width"), "only one side is set", "set height and width");
    if (by_size() && by_factors())
      throw FieldError(path("height"), "height and width contradict shrink_factor and zoom_factor",
                       "remove one of the two");
    if (by_bottom && (by_size() || by_factors()))
      throw FieldError(path(by_size()                  ? "height"
                            : param_.has_zoom_factor() ? "zoom_factor"
                                                       : "shrink_factor"),
                       "the size contradicts the second bottom, which also sets it", "remove one of the two");
    if (!by_bottom && param_.use_blob_size())
      throw FieldError(path("use_blob_size"), "the second bottom, whose size it takes, is missing",
                       "add a second bottom");
    if (!by_bottom && !by_size() && !by_factors())
      throw FieldError(path(""), "the size of the top is missing",
                       "set height and width, zoom_factor or shrink_factor, or add a second bottom of that size");
  }

  /// The extent of an axis after cropping by pad_beg and pad_end.
  InterpSide seen(const Shape& x, int axis) const {
    const int64_t in = x[axis] + param_.pad_beg() + param_.pad_end();
    if (in < 1)
      throw FieldError(param_.has_pad_beg()   ? path("pad_beg")
                       : param_.has_pad_end() ? path("pad_end")
                                              : "bottom[0]",
                       "nothing is left of axis " + std::to_string(axis) + " of bottom[0], whose shape is " + x.str());
    return {x[axis], -int64_t(param_.pad_beg()), in, 0};
  }

  int64_t resized(int64_t in, int64_t size) const {
    if (by_size()) return size;
    const int64_t shrunk = (in - 1) / param_.shrink_factor() + 1;
    return checked_mul(shrunk - 1, param_.zoom_factor()) + 1;
  }

  static ChannelView rows(const Tensor& tensor, int64_t columns) {
    const int64_t width = lanes_of(tensor.spec) == 1 ? columns : lanes_of(tensor.spec);
    return {1, width == 0 ? 0 : tensor.spec.elements() / width, width, Layout::kPlain};
  }

  InterpImages images(const Tensor& tensor) const { return {h_, w_, lanes_of(tensor.spec)}; }

  const caffe::InterpParameter& param_;
  InterpSide h_{}, w_{};
};

const RegisterLayer register_interp({
    .name = "Interp",
    .help = "bilinear resizing with aligned corners",
    .options = "interp_param",
    .min_bottoms = 1,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<InterpLayer>,
    .family = LayerFamily::kPooling,
});

}  // namespace

}  // namespace cortado
