// Axpy: y = a x + z, with bottoms in this order and a factor a for each channel of each sample: the end of a
// squeeze-and-excitation block. da = sum of dy x over the positions, dx = dy a, dz = dy.

#include "core/error.h"
#include "layers/common/shape_rules.h"
#include "layers/common/weights/channel_sums.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct AxpyForward {
  const T *a, *x, *z;
  T* y;
  CORTADO_HD void operator()(int64_t i, int64_t row) const { y[i] = a[row] * x[i] + z[i]; }
};

template <typename T>
struct AxpyTimes {
  const T *a, *dy;
  T* dx;
  CORTADO_HD void operator()(int64_t i, int64_t row) const { dx[i] = a[row] * dy[i]; }
};

template <typename T>
struct AxpyCopy {
  const T* from;
  T* to;
  CORTADO_HD void operator()(int64_t i) const { to[i] = from[i]; }
};

template <typename T>
struct AxpyProduct {
  const T *x, *dy;
  CORTADO_HD float operator()(int64_t i) const { return x[i] * dy[i]; }
};

class AxpyLayer : public Layer {
 public:
  explicit AxpyLayer(const LayerOptions&) {}

  LayerShapes infer(const std::vector<Shape>& x) override {
    if (x[1].axes() < 2)
      throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but must have samples and channels");
    if (x[2] != x[1])
      throw FieldError("bottom[2]", "its shape is " + x[2].str() + ", but bottom[1] has " + x[1].str(),
                       "the two bottoms that are added must have the same shape");
    const bool fits = x[0].axes() >= 2 && x[0][0] == x[1][0] && x[0][1] == x[1][1] && x[0].count(2) == 1;
    if (!fits)
      throw FieldError("bottom[0]", "its shape is " + x[0].str() + ", but bottom[1] has " + x[1].str(),
                       "the first bottom needs one factor for each channel of each sample: " + std::to_string(x[1][0]) +
                           "x" + std::to_string(x[1][1]));
    rows_ = x[1].count(0, 2), places_ = x[1].count(2);
    return {.y = {x[1]}, .w = {}};
  }

  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }

  LayerNeeds prepare(const PrepareRequest& request, Context&) override {
    LayerNeeds needs;
    needs.backward_reads_x = {request.wants_dx[1], request.wants_dx[0], false};
    needs.aliasing.y_may_overwrite_x = true;
    needs.aliasing.overwritten_x = 2;
    needs.backward_scratch = rows_ * int64_t(sizeof(float));
    return needs;
  }

  void forward(Context& context, const Operands& io) override {
    for_each_channel_typed<AxpyForward>(context, rows(), io.x[0], io.x[1], io.x[2], io.y[0]);
  }

  void backward(Context& context, const Operands& io) override {
    if (io.dx[0]) {
      float* sums = static_cast<float*>(io.scratch);
      sum_rows<AxpyProduct>(context, rows(), sums, io.x[1], io.dy[0]);
      for_each_typed<Round>(context, io.dx[0], static_cast<const float*>(sums));
    }
    if (io.dx[1]) for_each_channel_typed<AxpyTimes>(context, rows(), io.x[0], io.dy[0], io.dx[1]);
    if (io.dx[2]) for_each_typed<AxpyCopy>(context, io.dy[0], io.dx[2]);
  }

  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>& y) const override { return 2 * y[0].count(); }

 private:
  ChannelView rows() const { return {1, rows_, places_, Layout::kPlain}; }

  int64_t rows_ = 0, places_ = 0;
};

const RegisterLayer register_axpy({
    .name = "Axpy",
    .help = "multiplies each channel of the second bottom by a factor from the first and adds the third",
    .options = "",
    .min_bottoms = 3,
    .max_bottoms = 3,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<AxpyLayer>,
    .family = LayerFamily::kCombine,
});

}  // namespace

}  // namespace cortado
