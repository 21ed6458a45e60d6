// Matrix products and softmax.
#include <numeric>

#include "onnx/import/read_tensor.h"
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

void read_gemm(NodeReader& node) {
  if (node.integer("transA", 0) != 0) node.fail("transA is not supported");
  const Blob x = node.x(0);
  if (x.shape.axes() != 2) node.fail("the first operand has shape " + x.shape.str() + ", but must have 2 axes");
  BlobFile matrix = matrix_of(node, *node.constant(1, "the matrix"), node.integer("transB", 0) != 0);
  matrix.data = times(std::move(matrix.data), node.real("alpha", 1));
  const int64_t outputs = matrix.shape[0];
  caffe::LayerParameter layer = NodeReader::layer("InnerProduct");
  layer.mutable_inner_product_param()->set_num_output(uint32_t(outputs));
  std::vector<BlobFile> weights = {std::move(matrix)};
  if (!node.has_input(2)) {
    layer.mutable_inner_product_param()->set_bias_term(false);
    return node.finish(layer, {x}, std::move(weights));
  }
  Constant terms = *node.constant(2, "the bias");
  terms = {.shape = terms.shape, .floats = times(terms.as_floats(), node.real("beta", 1))};
  if (!same_in_rows(terms.shape, outputs)) {
    layer.mutable_inner_product_param()->set_bias_term(false);
    return finish_with_constant(node, node.add(layer, {x}, std::move(weights)), terms, false);
  }
  if (terms.floats.size() == 1) terms.floats.resize(size_t(outputs), terms.floats[0]);
  weights.push_back(weight_of(Shape{outputs}, std::move(terms.floats)));
  node.finish(layer, {x}, std::move(weights));
}

void read_matmul(NodeReader& node) {
  const Blob a = node.x(0);
  if (!node.is_constant(1) || node.constant(1, "the matrix")->shape.axes() != 2)
    return node.finish(NodeReader::layer("MatMul"), {a, node.x(1)});
  BlobFile matrix = matrix_of(node, *node.constant(1, "the matrix"), false);
  caffe::LayerParameter layer = NodeReader::layer("InnerProduct");
  auto& param = *layer.mutable_inner_product_param();
  param.set_num_output(uint32_t(matrix.shape[0]));
  param.set_bias_term(false);
  if (a.shape.axes() < 2) node.fail("the first operand has shape " + a.shape.str() + ", but must have 2 axes or more");
  if (a.shape.axes() != 2) param.set_axis(a.shape.axes() - 1);
  node.finish(layer, {a}, {std::move(matrix)});
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

/// An embedding (a row of a table for each index), or a slice of a blob.
void read_gather(NodeReader& node) {
  if (node.is_constant(0) && node.constant(0, "the table")->shape.axes() == 2 && node.integer("axis", 0) == 0) {
    const ConstantPtr table = node.constant(0, "the table");
    caffe::LayerParameter layer = NodeReader::layer("Embed");
    auto& param = *layer.mutable_embed_param();
    param.set_input_dim(uint32_t(table->shape[0]));
    param.set_num_output(uint32_t(table->shape[1]));
    param.set_bias_term(false);
    return node.finish(layer, {node.x(1)}, {weight_of(table->shape, table->as_floats())});
  }
  const Blob x = node.x(0);
  const int axis = node.axis_of(x.shape, node.integer("axis", 0));
  const ConstantPtr places = node.constant(1, "the index");
  if (places->count() != 1) node.fail("several indices of a blob are not supported", "use one index");
  int64_t place = places->as_integers()[0];
  if (place < 0) place += x.shape[axis];
  if (place < 0 || place >= x.shape[axis])
    node.fail("index " + std::to_string(place) + " is out of range for axis " + std::to_string(axis) + " of " +
              x.shape.str());
  const Blob taken = node.sliced(x, axis, place, place + 1);
  if (places->shape.axes() > 0) return node.set(0, taken);
  std::vector<int64_t> target(size_t(axis), 0);
  target.insert(target.end(), taken.shape.dims().begin() + axis + 1, taken.shape.dims().end());
  node.finish_reshaped(taken, target);
}

}  // namespace

void add_products(Table& table) {
  table.insert({{"Gemm", read_gemm},
                {"MatMul", read_matmul},
                {"Softmax", read_softmax},
                {"LogSoftmax", read_softmax},
                {"Gather", read_gather}});
}

}  // namespace cortado::importing
