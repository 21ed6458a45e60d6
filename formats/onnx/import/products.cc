// Matrix products and softmax.
#include <numeric>

#include "onnx/import/arithmetic.h"
#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

/// Transposes a matrix.
BlobFile transposed(const Shape& shape, const std::vector<float>& from) {
  const int64_t rows = shape[0], columns = shape[1];
  BlobFile out{{columns, rows}, std::vector<float>(from.size())};
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) out.data[size_t(c * rows + r)] = from[size_t(r * columns + c)];
  return out;
}

/// A matrix of outputs x inputs, as InnerProduct requires.
BlobFile matrix_of(NodeReader& node, const Constant& constant, bool outputs_first) {
  if (constant.shape.axes() != 2) node.fail("the matrix has shape " + constant.shape.str() + ", but must have 2 axes");
  if (!outputs_first) return transposed(constant.shape, constant.as_floats());
  return weight_of(constant.shape, constant.as_floats());
}

std::vector<float> times(std::vector<float> values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}

/// Whether a bias of this shape (1, N, 1 x 1 or 1 x N) is the same in every row of M x N.
bool same_in_rows(const Shape& terms, int64_t outputs) {
  const int last = terms.axes() - 1;
  return terms.count() == 1 || (terms.count() == outputs && terms[last] == outputs);
}

/// InnerProduct with the matrix as its weights.
Step product_with_matrix(const Blob& a, BlobFile matrix) {
  caffe::LayerParameter layer = NodeReader::layer("InnerProduct");
  auto& param = *layer.mutable_inner_product_param();
  param.set_num_output(uint32_t(matrix.shape[0]));
  param.set_bias_term(false);
  if (a.shape.axes() != 2) param.set_axis(a.shape.axes() - 1);
  return {layer, {a}, {std::move(matrix)}};
}

/// The layer of Gemm's product, without the bias.
Step product_of_gemm(NodeReader& node) {
  const float alpha = node.real("alpha", 1);
  const bool flips_a = node.integer("transA", 0) != 0, flips_b = node.integer("transB", 0) != 0;
  const Blob a = node.x(0);
  if (a.shape.axes() != 2) node.fail("the first operand has shape " + a.shape.str() + ", but must have 2 axes");
  if (node.is_constant(1)) {
    BlobFile matrix = matrix_of(node, *node.constant(1, "the matrix"), flips_b);
    matrix.data = times(std::move(matrix.data), alpha);
    return product_with_matrix(flips_a ? with_last_exchanged(node, a) : a, std::move(matrix));
  }
  caffe::LayerParameter layer = NodeReader::layer("MatMul");
  if (flips_a) layer.mutable_matmul_param()->set_transpose_a(true);
  if (flips_b) layer.mutable_matmul_param()->set_transpose_b(true);
  if (alpha != 1) layer.mutable_matmul_param()->set_alpha(alpha);
  return {layer, {a, node.x(1)}};
}

/// Adds a bias, which is broadcast to the product.
void finish_with_bias(NodeReader& node, const Blob& product, const Constant* terms, float beta) {
  const Shape& shape = terms ? terms->shape : node.x(2).shape;
  if (common_shape(node, product.shape, shape) != product.shape)
    node.fail("a bias of shape " + shape.str() + " cannot be broadcast to " + product.shape.str());
  if (terms) return node.finish(combined(node, product, *terms, false));
  node.finish(combined(node, product, beta == 1 ? node.x(2) : powered(node, node.x(2), beta), false));
}

void read_gemm(NodeReader& node) {
  Step product = product_of_gemm(node);
  if (!node.has_input(2)) return node.finish(std::move(product));
  const float beta = node.real("beta", 1);
  if (!node.is_constant(2)) return finish_with_bias(node, node.add(std::move(product)), nullptr, beta);
  Constant terms = *node.constant(2, "the bias");
  terms = {.shape = terms.shape, .floats = times(terms.as_floats(), beta)};
  const int64_t outputs = product.layer.inner_product_param().num_output();
  if (product.weights.empty() || !same_in_rows(terms.shape, outputs))
    return finish_with_bias(node, node.add(std::move(product)), &terms, beta);
  if (terms.floats.size() == 1) terms.floats.resize(size_t(outputs), terms.floats[0]);
  product.layer.mutable_inner_product_param()->clear_bias_term();
  product.weights.push_back(weight_of(Shape{outputs}, std::move(terms.floats)));
  node.finish(std::move(product));
}

/// A constant with a second axis of 1 before or after its only one.
Constant as_matrix(const Constant& constant, bool row) {
  Constant out = constant;
  if (out.shape.axes() == 1) out.shape = row ? Shape{1, out.shape[0]} : Shape{out.shape[0], 1};
  return out;
}

/// Vectors become matrices of one row or column.
Blob as_matrix(NodeReader& node, const Blob& x, bool row) {
  if (x.shape.axes() != 1) return x;
  return node.reshaped(x, row ? std::vector<int64_t>{1, -1} : std::vector<int64_t>{-1, 1});
}

/// The product of two blobs, whose axes before the matrices are broadcast.
Step product_of_blobs(NodeReader& node, Blob a, Blob b) {
  const auto parts = [](const Shape& shape, int from, int to) {
    return Shape(std::vector<int64_t>(shape.dims().begin() + from, shape.dims().begin() + to));
  };
  const int of_a = a.shape.axes() - 2, of_b = b.shape.axes() - 2;
  if (of_a > 0 && of_b > 0) {
    const Shape common = common_shape(node, parts(a.shape, 0, of_a), parts(b.shape, 0, of_b));
    for (Blob* one : {&a, &b}) {
      std::vector<int64_t> dims = common.dims();
      dims.insert(dims.end(), one->shape.dims().end() - 2, one->shape.dims().end());
      *one = expanded(node, *one, Shape(dims));
    }
  }
  return {NodeReader::layer("MatMul"), {a, b}};
}

/// Removes the axes that vectors were extended by.
void finish_product(NodeReader& node, const Blob& y, int axes_of_a, int axes_of_b) {
  std::vector<int64_t> dims = y.shape.dims();
  if (axes_of_b == 1) dims.pop_back();
  if (axes_of_a == 1) dims.erase(dims.end() - (axes_of_b == 1 ? 1 : 2));
  node.finish_reshaped(y, dims);
}

void read_matmul(NodeReader& node) {
  const auto axes_of = [&](size_t i) {
    return node.is_constant(i) ? node.constant(i, "a matrix")->shape.axes() : node.x(i).shape.axes();
  };
  const int of_a = axes_of(0), of_b = axes_of(1);
  if (of_a < 1 || of_b < 1) node.fail("an operand is a single number");
  Step product;
  if (node.is_constant(1) && of_b <= 2) {
    const Constant matrix = as_matrix(*node.constant(1, "the matrix"), false);
    product = product_with_matrix(as_matrix(node, node.x(0), true), matrix_of(node, matrix, false));
  } else if (node.is_constant(0) && of_a <= 2) {
    const Constant matrix = as_matrix(*node.constant(0, "the matrix"), true);
    const Blob b = as_matrix(node, node.x(1), false);
    const Blob y = mapped(node, b, b.shape.axes() - 2, weight_of(matrix.shape, matrix.as_floats()));
    return finish_product(node, y, of_a, of_b);
  } else {
    product = product_of_blobs(node, as_matrix(node, node.x(0), true), as_matrix(node, node.x(1), false));
  }
  if (of_a > 1 && of_b > 1) return node.finish(std::move(product));
  finish_product(node, node.add(std::move(product)), of_a, of_b);
}

/// Before opset 13 the softmax is over all axes from `axis` on.
void read_softmax(NodeReader& node) {
  const Blob x = node.x(0);
  const bool joins = node.opset() < 13;
  const int axis = node.axis_of(x.shape, node.integer("axis", joins ? 1 : -1));
  const bool flat = joins && axis + 1 < x.shape.axes();
  std::vector<int64_t> rows(size_t(axis), 0);
  rows.push_back(-1);
  const Blob row = flat ? node.reshaped(x, rows) : x;
  caffe::LayerParameter layer =
      NodeReader::layer(node.op());  // Softmax or LogSoftmax: the layer types have the same names
  if (axis != 1) layer.mutable_softmax_param()->set_axis(axis);
  if (!flat) return node.finish(layer, {row});
  node.finish_reshaped(node.add(layer, {row}), x.shape.dims());
}

}  // namespace

void add_products(Table& table) {
  table.insert({{"Gemm", read_gemm}, {"MatMul", read_matmul}, {"Softmax", read_softmax}, {"LogSoftmax", read_softmax}});
}

}  // namespace cortado::importing
