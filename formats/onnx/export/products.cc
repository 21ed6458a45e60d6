// Matrix products.
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// The matrix as inputs x outputs, as MatMul requires.
std::string transposed_weight(LayerWriter& layer, bool is_transposed) {
  const Shape shape = layer.weight_shape(0);
  if (is_transposed) return layer.weight(0);
  const int64_t rows = shape[0], columns = shape[1];
  const std::span<const float> from = layer.values(0);
  std::vector<float> to(from.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) to[size_t(c * rows + r)] = from[size_t(r * columns + c)];
  return layer.floats("weight", {columns, rows}, to);
}

/// A row of x is everything from `axis` on. Gemm if there is one axis before it, else MatMul.
Operation product_of(LayerWriter& layer, int axis) {
  const auto& param = layer.config.inner_product_param();
  const Operand& x = layer.x[0];
  if (axis == 1) {
    const std::string rows = x.shape.axes() == 2 ? x.name : layer.add({"Flatten", {x.name}, {{"axis", int64_t(1)}}});
    Operation gemm = {"Gemm", {rows, layer.weight(0)}, {{"transB", int64_t(!param.transpose())}}};
    if (param.bias_term()) gemm.inputs.push_back(layer.weight(1));
    return gemm;
  }
  std::string rows = x.name;
  if (axis + 1 < x.shape.axes()) {
    Shape shape = x.shape;
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().begin() + axis);
    dims.push_back(shape.count(axis));
    std::vector<int> axes;
    for (int i = 0; i < axis; ++i) axes.push_back(i);
    axes.push_back(-1);
    rows = layer.reshaped(x, LayerWriter::shaped(x, Shape(dims), axes));
  }
  const Operation product = {"MatMul", {rows, transposed_weight(layer, param.transpose())}};
  if (!param.bias_term()) return product;
  return {"Add", {layer.add(product), layer.weight(1)}};
}

void write_inner_product(LayerWriter& layer) {
  if (layer.config.inner_product_param().normalize())
    layer.refuse("weights with normalised rows cannot be exported", {}, "inner_product_param.normalize");
  const auto& param = layer.config.inner_product_param();
  const int axis = layer.x[0].shape.canonical_axis(param.axis());
  if (axis < 1)
    layer.refuse("axis 0 cannot be exported: the whole batch would be one row", {}, "inner_product_param.axis");
  const Operation product = product_of(layer, axis);
  layer.finish(param.relu() ? Operation{"Relu", {layer.add(product)}} : product);
}

std::string with_last_axes_exchanged(LayerWriter& layer, const Operand& x) {
  std::vector<int64_t> order;
  for (int axis = 0; axis < x.shape.axes(); ++axis) order.push_back(axis);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return layer.add({"Transpose", {x.name}, {{"perm", order}}});
}

void write_matmul(LayerWriter& layer) {
  const auto& param = layer.config.matmul_param();
  const auto operand = [&](size_t i, bool exchanged) {
    return exchanged ? with_last_axes_exchanged(layer, layer.x[i]) : layer.x[i].name;
  };
  const Operation product = {"MatMul", {operand(0, param.transpose_a()), operand(1, param.transpose_b())}};
  if (param.alpha() == 1) return layer.finish(product);
  layer.finish({"Mul", {layer.add(product), layer.number(param.alpha())}});
}

/// Caffe's indices are floats.
void write_embed(LayerWriter& layer) {
  const std::string index = layer.add({"Cast", {layer.x[0].name}, {{"to", int64_t(onnx::TensorProto::INT64)}}});
  const Operation rows = {"Gather", {layer.weight(0), index}};
  if (!layer.config.embed_param().bias_term()) return layer.finish(rows);
  layer.finish({"Add", {layer.add(rows), layer.weight(1)}});
}

}  // namespace

void add_products(Table& table) {
  table.insert({{"InnerProduct", write_inner_product}, {"MatMul", write_matmul}, {"Embed", write_embed}});
}

}  // namespace cortado::exporting
