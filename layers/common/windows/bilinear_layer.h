#pragma once

// The base of layers that resize images bilinearly. Along an axis, y[i] is interpolated from the two elements of x
// around its position: i (in - 1) / (out - 1) with aligned corners, else i in / out. Backward gathers the weighted
// gradients for each element of dx. For .cu files.

#include <vector>

#include "layers/common/loops/lanes.h"
#include "layers/common/loops/typed.h"
#include "layers/layer.h"

namespace cortado {

// Not shared between files: GCC 12 merges functions of two files if their local functors have the same name.
namespace {

/// One axis: x has `whole` elements, of which `in` from `start` on are used.
struct BilinearSide {
  int64_t whole, start, in, out;
  bool aligned;

  /// The position in x advances by `step()` / `length()` for each element of y.
  CORTADO_HD int64_t step() const { return aligned ? in - 1 : in; }
  CORTADO_HD int64_t length() const { return !aligned ? out : out > 1 ? out - 1 : 1; }

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

/// The source of element `place` of y: between `low` and `high`, at fraction `share`. After the last element, where
/// corners are not aligned, the value is multiplied by `kept`: the missing neighbour counts as 0.
struct BilinearSource {
  int64_t low, high;
  float share, kept;

  CORTADO_HD BilinearSource(const BilinearSide& side, int64_t place) {
    const double at = double(place) * (double(side.step()) / double(side.length()));
    const int64_t floor = int64_t(at);
    share = float(at - double(floor));
    low = side.start + floor;
    high = low + (floor < side.in - 1 ? 1 : 0);
    kept = side.aligned || high > low ? 1 : 1 - share;
  }
};

/// Both tensors as images whose pixels have `lanes` channels. A row runs along w if lanes is 1, else over one pixel.
struct BilinearImages {
  BilinearSide h, w;
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
struct BilinearForward {
  const T* x;
  T* y;
  BilinearImages images;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const BilinearImages::Place to = images.in_y(i, row);
    const BilinearSource h(images.h, to.h), w(images.w, to.w);
    const auto along_w = [&](int64_t at_h) {
      const float low = x[images.x_at(to.image, at_h, w.low, to.lane)];
      const float high = x[images.x_at(to.image, at_h, w.high, to.lane)];
      return (low + w.share * (high - low)) * w.kept;
    };
    const float low = along_w(h.low), high = along_w(h.high);
    y[i] = (low + h.share * (high - low)) * h.kept;
  }
};

template <typename T>
struct BilinearBackward {
  const T* dy;
  T* dx;
  BilinearImages images;
  CORTADO_HD void operator()(int64_t i, int64_t row) const {
    const BilinearImages::Place to = images.in_x(i, row);
    const BilinearSide &h = images.h, &w = images.w;
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

/// A derived class sets the sides in infer().
class BilinearLayer : public Layer {
 public:
  StorageRule storage(const kernels::PostOps&) const override {
    return {.layout = LayoutRule::kFollow, .type = TypeRule::kFollow};
  }
  bool differentiable(int i) const override { return i == 0; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override { return {}; }

  void forward(Context& context, const Operands& io) override {
    for_each_channel_typed<BilinearForward>(context, rows(io.y[0], w_.out), io.x[0], io.y[0], images(io.y[0]));
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0])
      for_each_channel_typed<BilinearBackward>(context, rows(io.dx[0], w_.whole), io.dy[0], io.dx[0], images(io.dx[0]));
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override { return 6 * y[0].count(); }

 protected:
  BilinearSide h_{}, w_{};

 private:
  static ChannelView rows(const Tensor& tensor, int64_t columns) {
    const int64_t width = lanes_of(tensor.spec) == 1 ? columns : lanes_of(tensor.spec);
    return {1, width == 0 ? 0 : tensor.spec.elements() / width, width, Layout::kPlain};
  }

  BilinearImages images(const Tensor& tensor) const { return {h_, w_, lanes_of(tensor.spec)}; }
};

}  // namespace

}  // namespace cortado
