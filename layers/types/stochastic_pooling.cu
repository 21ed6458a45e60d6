#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/rng.h"
#include "layers/common/loops/typed.h"
#include "layers/common/windows/pool_window.h"
#include "layers/types/stochastic_pooling.h"

namespace cortado {

namespace {

/// Windows along one axis.
struct StochasticPoolingSide {
  int64_t in, out, kernel, stride;

  CORTADO_HD int64_t begin(int64_t o) const { return o * stride; }
  CORTADO_HD int64_t end(int64_t o) const { return begin(o) + kernel < in ? begin(o) + kernel : in; }
  /// The windows [first_over, end_over) that contain input i.
  CORTADO_HD int64_t first_over(int64_t i) const { return i < kernel ? 0 : (i - kernel) / stride + 1; }
  CORTADO_HD int64_t end_over(int64_t i) const { return i / stride + 1 < out ? i / stride + 1 : out; }
};

struct StochasticPoolingWindow {
  int64_t h_begin, h_end, w_begin, w_end;  ///< elements of x: rows from `first` on, with stride `row`
  int64_t first, row;
};

struct Windows {
  StochasticPoolingSide h, w;

  /// The window of element o of y.
  CORTADO_HD StochasticPoolingWindow of(int64_t o) const {
    const int64_t column = o % w.out, row = o / w.out % h.out, plane = o / w.out / h.out;
    return {h.begin(row), h.end(row), w.begin(column), w.end(column), plane * h.in * w.in, w.in};
  }
};

struct StochasticPoolingSums {
  float x, squares;
};

template <typename T>
CORTADO_HD inline StochasticPoolingSums sums_of(const T* x, const StochasticPoolingWindow& at) {
  StochasticPoolingSums sums{0, 0};
  for (int64_t h = at.h_begin; h < at.h_end; ++h)
    for (int64_t w = at.w_begin; w < at.w_end; ++w) {
      const float v = x[at.first + h * at.row + w];
      sums.x += v;
      sums.squares += v * v;
    }
  return sums;
}

template <typename T>
struct Draw {
  const T* x;
  T* y;
  int32_t* places;  ///< h * W + w of the drawn value; -1 for an empty window
  Windows windows;
  uint64_t key;
  const uint64_t* pass;

  CORTADO_HD void operator()(int64_t o) const {
    const StochasticPoolingWindow at = windows.of(o);
    const float sum = sums_of(x, at).x, share = 1 - unit_float(Philox(key)(*pass, uint64_t(o)).v[0]);
    const float wanted = share * sum;
    float reached = 0, drawn = 0;
    int64_t place = -1;
    for (int64_t h = at.h_begin; h < at.h_end; ++h)
      for (int64_t w = at.w_begin; w < at.w_end; ++w) {
        if (place >= 0 && reached >= wanted) continue;
        place = h * at.row + w;
        drawn = x[at.first + place];
        reached += drawn;
      }
    y[o] = sum == sum ? drawn : sum;  // keeps NaN
    places[o] = int32_t(place);
  }
};

template <typename T>
struct Mean {
  const T* x;
  T* y;
  Windows windows;
  CORTADO_HD void operator()(int64_t o) const {
    const StochasticPoolingSums sums = sums_of(x, windows.of(o));
    y[o] = sums.x <= 0 ? 0 : sums.squares / sums.x;
  }
};

/// The sum of the gradients of all windows over one element of x.
template <typename T>
struct StochasticPoolingGradient {
  T* dx;
  const T* dy;
  Windows windows;
  const int32_t* places;  ///< of the drawn values; null: the mean was used
  const T* x;             ///< for the mean

  CORTADO_HD float share(int64_t o, int64_t i, int64_t place) const {
    if (places) return places[o] == place ? 1 : 0;
    const StochasticPoolingSums sums = sums_of(x, windows.of(o));
    return sums.x <= 0 ? 0 : (2 * float(x[i]) - sums.squares / sums.x) / sums.x;
  }
  CORTADO_HD void operator()(int64_t i) const {
    const StochasticPoolingSide &rows = windows.h, &columns = windows.w;
    const int64_t w = i % columns.in, h = i / columns.in % rows.in, plane = i / columns.in / rows.in;
    float sum = 0;
    for (int64_t r = rows.first_over(h); r < rows.end_over(h); ++r)
      for (int64_t c = columns.first_over(w); c < columns.end_over(w); ++c) {
        const int64_t o = (plane * rows.out + r) * columns.out + c;
        sum += float(dy[o]) * share(o, i, h * columns.in + w);
      }
    dx[i] = sum;
  }
};

class StochasticPoolingLayer : public Layer {
 public:
  explicit StochasticPoolingLayer(const LayerOptions& options)
      : window_(options.config.pooling_param()), draws_(options.phase == caffe::TRAIN) {
    const caffe::PoolingParameter& o = options.config.pooling_param();
    if (window_.pad.h != 0 || window_.pad.w != 0)
      throw FieldError(o.has_pad()     ? "pooling_param.pad"
                       : o.has_pad_h() ? "pooling_param.pad_h"
                                       : "pooling_param.pad_w",
                       "stochastic pooling does not support padding");
    if (options.config.top_size() > 1)
      throw FieldError("top[1]", "only MAX supports a second top, the positions of the maxima");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    y_ = window_.infer(x[0]);
    windows_ = {{x[0][2], y_[2], window_.kernel.h, window_.stride.h},
                {x[0][3], y_[3], window_.kernel.w, window_.stride.w}};
    return {.y = {y_}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    layer_seed_ = request.layer_seed;
    LayerNeeds needs;
    if (draws_) needs.saved = {y_.count() * int64_t(sizeof(int32_t))};
    needs.backward_reads_x = {!draws_};
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    const auto run = [&](const auto& functor) { for_each(context, y_.count(), functor); };
    if (draws_)
      with_functor<Draw>(run, io.x[0], io.y[0], places(io), windows_, mix_key(context.seed, layer_seed_),
                         context.pass_word());
    else
      with_functor<Mean>(run, io.x[0], io.y[0], windows_);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) for_each_typed<StochasticPoolingGradient>(context, io.dx[0], io.dy[0], windows_, places(io), io.x[0]);
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override {
    return 2 * y[0].count() * std::min(window_.kernel.h, windows_.h.in) * std::min(window_.kernel.w, windows_.w.in);
  }

 private:
  int32_t* places(const Operands& io) const { return draws_ ? static_cast<int32_t*>(io.saved[0]) : nullptr; }

  PoolWindow window_;
  bool draws_;
  Shape y_;
  Windows windows_{};
  uint64_t layer_seed_ = 0;
};

}  // namespace

std::unique_ptr<Layer> make_stochastic_pooling(const LayerOptions& options) {
  return std::make_unique<StochasticPoolingLayer>(options);
}

}  // namespace cortado
