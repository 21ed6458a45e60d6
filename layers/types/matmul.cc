// MatMul: y = alpha op(a) op(b), a matrix product for each index of the leading axes. The last two axes of a bottom are
// its matrix; op() transposes it if transpose_a or transpose_b is set. Leading axes must be equal. A bottom with only
// two axes is one matrix for all of them, and its gradient is their sum. Other broadcasting is not supported.
//   d op(a) = alpha dy op(b)^T,   d op(b) = alpha op(a)^T dy

#include "kernels/matmul.h"

#include <algorithm>

#include "core/error.h"
#include "layers/common/shape_rules.h"
#include "layers/registry.h"

namespace cortado {

namespace {

/// Extents of op(a) x op(b), m x k by k x n, and the stride between the matrices of each operand; 0 if it has only one.
struct Batch {
  int64_t count = 0, m = 0, n = 0, k = 0;
  int64_t step_a = 0, step_b = 0;
};

class MatMulLayer : public Layer {
 public:
  explicit MatMulLayer(const LayerOptions& options) : options_(options.config.matmul_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override;
  StorageRule storage(const kernels::PostOps&) const override { return {.type = TypeRule::kFollow}; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    return 2 * batch_.count * batch_.m * batch_.n * batch_.k;
  }

 private:
  bool shared(int i) const { return (i == 0 ? batch_.step_a : batch_.step_b) == 0; }
  bool transposed(int i) const { return i == 0 ? options_.transpose_a() : options_.transpose_b(); }
  /// Whether the gradient of a (0) or b (1), as it is stored, is a product that begins with dy.
  bool dy_first(int which) const { return (which == 0) != transposed(which); }
  kernels::MatMulRequest product(DType type) const;
  kernels::MatMulRequest gradient(int which, DType type) const;

  const caffe::MatMulParameter& options_;
  Batch batch_;
  std::unique_ptr<kernels::MatMul> product_, gradients_[2];
};

std::vector<int64_t> leading(const Shape& shape) { return {shape.dims().begin(), shape.dims().end() - 2}; }

LayerShapes MatMulLayer::infer(const std::vector<Shape>& x) {
  for (size_t i = 0; i < 2; ++i)
    if (x[i].axes() < 2)
      throw FieldError(i == 0 ? "bottom[0]" : "bottom[1]",
                       "its shape is " + x[i].str() + "; a matrix has at least two axes");
  const int a = x[0].axes() - 2, b = x[1].axes() - 2;
  if (a > 0 && b > 0 && leading(x[0]) != leading(x[1]))
    throw FieldError("bottom[1]", "its shape is " + x[1].str() + ", but bottom[0] has " + x[0].str(),
                     "make all axes but the last two equal, or pass one bottom with only two axes");
  const bool ta = options_.transpose_a(), tb = options_.transpose_b();
  const int64_t inner = x[1][tb ? b + 1 : b];
  batch_.m = x[0][ta ? a + 1 : a], batch_.k = x[0][ta ? a : a + 1], batch_.n = x[1][tb ? b : b + 1];
  if (inner != batch_.k)
    throw FieldError("bottom[1]",
                     "its matrices have " + std::to_string(inner) + " rows (" + x[1].str() +
                         "), but those of bottom[0] have " + std::to_string(batch_.k) + " columns (" + x[0].str() +
                         ")" + (ta || tb ? ", after the transpose" : ""),
                     "set transpose_a or transpose_b to swap the last two axes");
  const Shape& longer = a >= b ? x[0] : x[1];
  std::vector<int64_t> y = leading(longer);
  batch_.count = Shape(y).count();
  y.insert(y.end(), {batch_.m, batch_.n});
  count_of_elements(Shape(y), "bottom[1]");
  batch_.step_a = a > 0 ? batch_.m * batch_.k : 0;
  batch_.step_b = b > 0 ? batch_.k * batch_.n : 0;
  if (shared(1) && !ta) batch_.m = checked_mul(batch_.m, batch_.count), batch_.count = 1;  // one tall matrix
  return {.y = {Shape(y)}, .w = {}};
}

kernels::MatMulRequest MatMulLayer::product(DType type) const {
  const auto& [count, m, n, k, step_a, step_b] = batch_;
  return {.shape = {m, n, k, transposed(0), transposed(1), type, type, type},
          .count = count,
          .step_a = step_a,
          .step_b = step_b,
          .alpha = options_.alpha()};
}

/// The matrix products of the gradient of a (0) or b (1).
kernels::MatMulRequest MatMulLayer::gradient(int which, DType type) const {
  const auto& [count, m, n, k, step_a, step_b] = batch_;
  const bool ta = transposed(0), tb = transposed(1);
  kernels::GemmShape shape;
  if (which == 0)
    shape = ta ? kernels::GemmShape{k, m, n, tb, true} : kernels::GemmShape{m, k, n, false, !tb};
  else
    shape = tb ? kernels::GemmShape{n, k, m, true, ta} : kernels::GemmShape{k, n, m, !ta, false};
  shape.a = shape.b = shape.c = type;
  const int64_t step_dy = m * n, step_other = which == 0 ? step_b : step_a;
  return {.shape = shape,
          .count = count,
          .step_a = dy_first(which) ? step_dy : step_other,
          .step_b = dy_first(which) ? step_other : step_dy,
          .adds_up = shared(which) && count != 1,
          .alpha = options_.alpha()};
}

LayerNeeds MatMulLayer::prepare(const PrepareRequest& request, Context& context) {
  const DType type = request.x[0].dtype;
  LayerNeeds needs;
  needs.backward_reads_x = {request.wants_dx[1], request.wants_dx[0]};
  product_ = kernels::plan_matmul(product(type), context);
  needs.forward_scratch = product_->scratch();
  needs.algorithm = product_->name();
  for (int i = 0; i < 2; ++i) {
    if (!request.wants_dx[size_t(i)]) continue;
    gradients_[i] = kernels::plan_matmul(gradient(i, type), context);
    needs.backward_scratch = std::max(needs.backward_scratch, gradients_[i]->scratch());
  }
  return needs;
}

void MatMulLayer::forward(Context& context, const Operands& io) {
  product_->run(context, io.x[0].data, io.x[1].data, io.y[0].data, io.scratch);
}

void MatMulLayer::backward(Context& context, const Operands& io) {
  for (int i = 0; i < 2; ++i) {
    if (!io.dx[size_t(i)]) continue;
    const void *dy = io.dy[0].data, *other = io.x[size_t(1 - i)].data;
    gradients_[i]->run(context, dy_first(i) ? dy : other, dy_first(i) ? other : dy, io.dx[size_t(i)].data, io.scratch);
  }
}

const RegisterLayer register_matmul({
    .name = "MatMul",
    .help = "the matrix product of two bottoms over their last two axes",
    .options = "matmul_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<MatMulLayer>,
    .family = LayerFamily::kDense,
});

}  // namespace

}  // namespace cortado
