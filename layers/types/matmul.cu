// MatMul: y = alpha op(a) op(b), a product of matrices for each index of the leading axes. The last two axes of a
// bottom are its matrix, op() transposes it where told. Leading axes are the same for both; a bottom with two axes
// alone is one matrix for all of them, and its gradient is their sum. Nothing else is broadcast.
//   d op(a) = alpha dy op(b)^T,   d op(b) = alpha op(a)^T dy

#include <algorithm>

#include "core/error.h"
#include "kernels/gemm.h"
#include "layers/common/shape_rules.h"
#include "layers/common/typed.h"
#include "layers/registry.h"

namespace cortado {

namespace {

template <typename T>
struct Scale {
  T* y;
  float alpha;
  CORTADO_HD void operator()(int64_t i) const { y[i] = alpha * y[i]; }
};

/// Sums on their way to a tensor of another type.
template <typename T>
struct ScaleRounded {
  T* y;
  const float* sums;
  float alpha;
  CORTADO_HD void operator()(int64_t i) const { y[i] = alpha * sums[i]; }
};

/// Extents of op(a) x op(b), m x k by k x n, and how far apart the matrices of each operand lie: 0 where all use one.
struct Batch {
  int64_t count = 0, m = 0, n = 0, k = 0;
  int64_t step_a = 0, step_b = 0;
};

void* offset(const Tensor& tensor, int64_t elements) {
  return static_cast<char*>(tensor.data) + elements * size_of(tensor.spec.dtype);
}

class MatMulLayer : public Layer {
 public:
  explicit MatMulLayer(const LayerOptions& options) : options_(options.config.matmul_param()) {}

  LayerShapes infer(const std::vector<Shape>& x) override;
  TypeRule types() const override { return TypeRule::kFollow; }
  LayerNeeds prepare(const PrepareRequest& request, Context& context) override;
  void forward(Context& context, const Operands& io) override;
  void backward(Context& context, const Operands& io) override;
  int64_t flops(const std::vector<Shape>&, const std::vector<Shape>&) const override {
    return 2 * batch_.count * batch_.m * batch_.n * batch_.k;
  }

 private:
  bool shared(int i) const { return (i == 0 ? batch_.step_a : batch_.step_b) == 0; }
  void backward_of(Context& context, const Operands& io, int which) const;
  void gradient(Context& context, const Operands& io, int which, int64_t index, void* dx, DType out) const;

  const caffe::MatMulParameter& options_;
  Batch batch_;
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
                     "the axes before the last two are the same, or one bottom has two axes alone");
  const bool ta = options_.transpose_a(), tb = options_.transpose_b();
  const int64_t inner = x[1][tb ? b + 1 : b];
  batch_.m = x[0][ta ? a + 1 : a], batch_.k = x[0][ta ? a : a + 1], batch_.n = x[1][tb ? b : b + 1];
  if (inner != batch_.k)
    throw FieldError("bottom[1]",
                     "its matrices have " + std::to_string(inner) + " rows (" + x[1].str() +
                         "), but those of bottom[0] " + std::to_string(batch_.k) + " columns (" + x[0].str() + ")" +
                         (ta || tb ? ", once transposed" : ""),
                     "transpose_a and transpose_b exchange the last two axes");
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

LayerNeeds MatMulLayer::prepare(const PrepareRequest& request, Context&) {
  LayerNeeds needs;
  needs.backward_reads_x = {request.wants_dx[1], request.wants_dx[0]};
  if (request.x[0].dtype == DType::kF32 || batch_.count == 1) return needs;
  // Sums over many products are not rounded to 16 bits each time.
  for (int i = 0; i < 2; ++i)
    if (shared(i) && request.wants_dx[size_t(i)])
      needs.backward_scratch =
          std::max(needs.backward_scratch, request.x[size_t(i)].shape.count() * int64_t(sizeof(float)));
  return needs;
}

void MatMulLayer::forward(Context& context, const Operands& io) {
  const DType type = io.x[0].spec.dtype;
  const kernels::GemmShape shape{batch_.m, batch_.n, batch_.k, options_.transpose_a(), options_.transpose_b(),
                                 type,     type,     type};
  for (int64_t i = 0; i < batch_.count; ++i)
    kernels::gemm(context, shape, offset(io.x[0], i * batch_.step_a), offset(io.x[1], i * batch_.step_b),
                  offset(io.y[0], i * batch_.m * batch_.n));
  if (options_.alpha() != 1) for_each_typed<Scale>(context, io.y[0], options_.alpha());
}

/// Product number `index` of the gradient of a (0) or b (1), written to or added to `dx`, as stored: transposed or not.
void MatMulLayer::gradient(Context& context, const Operands& io, int which, int64_t index, void* dx, DType out) const {
  const auto& [count, m, n, k, step_a, step_b] = batch_;
  const bool ta = options_.transpose_a(), tb = options_.transpose_b(), transposed = which == 0 ? ta : tb;
  const float beta = shared(which) && index > 0 ? 1 : 0;
  const DType type = io.dy[0].spec.dtype;
  const void* dy = offset(io.dy[0], index * m * n);
  const void* other = which == 0 ? offset(io.x[1], index * step_b) : offset(io.x[0], index * step_a);
  if (which == 0 && !transposed)
    kernels::gemm(context, {m, k, n, false, !tb, type, type, out}, dy, other, dx, beta);
  else if (which == 0)
    kernels::gemm(context, {k, m, n, tb, true, type, type, out}, other, dy, dx, beta);
  else if (!transposed)
    kernels::gemm(context, {k, n, m, !ta, false, type, type, out}, other, dy, dx, beta);
  else
    kernels::gemm(context, {n, k, m, true, ta, type, type, out}, dy, other, dx, beta);
}

void MatMulLayer::backward_of(Context& context, const Operands& io, int which) const {
  const Tensor& dx = io.dx[size_t(which)];
  const bool sums_apart = shared(which) && batch_.count > 1 && dx.spec.dtype != DType::kF32;
  const int64_t step = which == 0 ? batch_.step_a : batch_.step_b;
  for (int64_t i = 0; i < batch_.count; ++i)
    gradient(context, io, which, i, sums_apart ? io.scratch : offset(dx, i * step),
             sums_apart ? DType::kF32 : dx.spec.dtype);
  if (sums_apart)
    for_each_typed<ScaleRounded>(context, dx, static_cast<const float*>(io.scratch), options_.alpha());
  else if (options_.alpha() != 1)
    for_each_typed<Scale>(context, dx, options_.alpha());
}

void MatMulLayer::backward(Context& context, const Operands& io) {
  for (int i = 0; i < 2; ++i)
    if (io.dx[size_t(i)]) backward_of(context, io, i);
}

const RegisterLayer registered({
    .name = "MatMul",
    .help = "the product of two bottoms' matrices, which are their last two axes",
    .options = "matmul_param",
    .min_bottoms = 2,
    .max_bottoms = 2,
    .min_tops = 1,
    .max_tops = 1,
    .make = make_layer<MatMulLayer>,
});

}  // namespace

}  // namespace cortado
