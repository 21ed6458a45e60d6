// LogSoftmax: the logarithm of Softmax along an axis, y = x - max - log(sum of e^(x - max)). It does not compute the
// probabilities, so one that underflows a float still has a finite logarithm.
//   dx = dy - e^y (sum of dy)

#include "core/half.h"
#include "layers/common/loops/typed.h"
#include "layers/common/losses/softmax_rows.h"
#include "layers/common/shape_rules.h"
#include "layers/common/windows/volume_options.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct LogSoftmaxForward {
  const T* x;
  T* y;
  SoftmaxRows rows;

  CORTADO_HD void operator()(int64_t row, const RowGroup& group) const {
    const int64_t step = rows.inner;
    const T* from = x + rows.at(row, 0);
    T* to = y + rows.at(row, 0);
    const float most = group.largest(rows.classes, [=](int64_t c) { return float(from[c * step]); });
    const float sum = group.sum(rows.classes, [=](int64_t c) { return expf(float(from[c * step]) - most); });
    const float log_sum = logf(sum);
    group.each(rows.classes, [=](int64_t c) { to[c * step] = T(float(from[c * step]) - most - log_sum); });
  }
};

template <typename T>
struct LogSoftmaxBackward {
  const T *y, *dy;
  T* dx;
  SoftmaxRows rows;

  CORTADO_HD void operator()(int64_t row, const RowGroup& group) const {
    const int64_t step = rows.inner, first = rows.at(row, 0);
    const T *log_share = y + first, *gradient = dy + first;
    T* to = dx + first;
    const float sum = group.sum(rows.classes, [=](int64_t c) { return float(gradient[c * step]); });
    group.each(rows.classes, [=](int64_t c) {
      to[c * step] = T(float(gradient[c * step]) - expf(float(log_share[c * step])) * sum);
    });
  }
};

class LogSoftmaxLayer : public Layer {
 public:
  explicit LogSoftmaxLayer(const LayerOptions& options) : options_(options.config.softmax_param()) {
    refuse_fields(options_, "softmax_param", {"pos_cid", "pos_mult"}, "use WeightedSoftmaxWithLoss");
  }

  LayerShapes infer(const std::vector<Shape>& x) override {
    const int axis = axis_of(x[0], options_.axis(), "softmax_param.axis");
    rows_ = {x[0][axis], x[0].count(axis + 1)};
    count_ = x[0].count(0, axis) * rows_.inner;
    return {.y = {x[0]}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest&, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_y = {true};
    needs.aliasing.y_may_overwrite_x = true;
    needs.aliasing.dx_may_overwrite_dy = true;
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    with_functor<LogSoftmaxForward>([&](const auto& each) { for_each_row(context, count_, rows_.inner == 1, each); },
                                    io.x[0], io.y[0], rows_);
  }

  void backward(Context& context, const Operands& io) override {
    if (!io.dx[0]) return;
    with_functor<LogSoftmaxBackward>([&](const auto& each) { for_each_row(context, count_, rows_.inner == 1, each); },
                                     io.y[0], io.dy[0], io.dx[0], rows_);
  }

  int64_t flops(const std::vector<Shape>& x, const std::vector<Shape>&) const override { return 5 * x[0].count(); }

 private:
  const caffe::SoftmaxParameter& options_;
  SoftmaxRows rows_ = {};
  int64_t count_ = 0;  ///< number of rows
};

const RegisterLayer register_log_softmax({
    .name = "LogSoftmax",
    .help = "the logarithm of Softmax, finite however small the probabilities are",
    .options = "softmax_param",
    .min_bottoms = 1,
    .max_bottoms = 1,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<LogSoftmaxLayer>,
    .family = LayerFamily::kScore,
});

}  // namespace

}  // namespace cortado
