// Sums, products and powers of tensors.
#include <cmath>

#include "layers/common/loops/broadcast.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

std::string times(LayerWriter& layer, const std::string& x, float factor) {
  return factor == 1 ? x : layer.add({"Mul", {x, layer.number(factor)}});
}

std::string plus(LayerWriter& layer, const std::string& x, float term) {
  return term == 0 ? x : layer.add({"Add", {x, layer.number(term)}});
}

std::vector<std::string> names_of(const std::vector<Operand>& operands) {
  std::vector<std::string> names;
  for (const Operand& operand : operands) names.push_back(operand.name);
  return names;
}

/// A chain of binary operators over all terms.
void finish_pairwise(LayerWriter& layer, const std::string& op, const std::vector<std::string>& terms) {
  std::string sum = terms[0];
  for (size_t i = 1; i + 1 < terms.size(); ++i) sum = layer.add({op, {sum, terms[i]}});
  layer.finish({op, {sum, terms.back()}});
}

void write_eltwise(LayerWriter& layer) {
  const auto& param = layer.config.eltwise_param();
  std::vector<std::string> terms = names_of(layer.x);
  switch (param.operation()) {
    case caffe::EltwiseParameter::MAX:
      return layer.finish({"Max", terms});
    case caffe::EltwiseParameter::PROD:
      return finish_pairwise(layer, "Mul", terms);
    default:
      break;
  }
  if (terms.size() == 2 && param.coeff_size() == 2 && param.coeff(0) == 1 && param.coeff(1) == -1)
    return layer.finish({"Sub", terms});
  for (size_t i = 0; i < terms.size() && int(i) < param.coeff_size(); ++i)
    terms[i] = times(layer, terms[i], param.coeff(int(i)));
  finish_pairwise(layer, "Add", terms);
}

/// base^(shift + scale x) and log_base(shift + scale x); base -1 means e.
void write_exp(LayerWriter& layer) {
  const auto& param = layer.config.exp_param();
  const float unit = param.base() == -1 ? 1 : std::log(param.base());
  const std::string scaled = times(layer, layer.x[0].name, param.scale() * unit);
  layer.finish({"Exp", {plus(layer, scaled, param.shift() * unit)}});
}

void write_log(LayerWriter& layer) {
  const auto& param = layer.config.log_param();
  const Operation log = {"Log", {plus(layer, times(layer, layer.x[0].name, param.scale()), param.shift())}};
  if (param.base() == -1) return layer.finish(log);
  layer.finish({"Mul", {layer.add(log), layer.number(1 / std::log(param.base()))}});
}

/// (shift + scale x)^power, without steps that are the identity.
void write_power(LayerWriter& layer) {
  const auto& param = layer.config.power_param();
  std::vector<Operation> steps;
  if (param.scale() != 1) steps.push_back({"Mul", {"", layer.number(param.scale())}});
  if (param.shift() != 0) steps.push_back({"Add", {"", layer.number(param.shift())}});
  if (param.power() != 1) steps.push_back({"Pow", {"", layer.number(param.power())}});
  if (steps.empty()) steps.push_back({"Identity", {""}});
  std::string x = layer.x[0].name;
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].inputs[0] = x;
    if (i + 1 < steps.size()) x = layer.add(steps[i]);
  }
  layer.finish(steps.back());
}

/// The shape of the smaller operand, whose extents match x from `axis` on, padded with trailing axes of 1, so that ONNX
/// broadcasts it like Caffe.
Shape padded(const Shape& shape, const Shape& x, int axis) {
  std::vector<int64_t> dims = shape.dims();
  dims.resize(size_t(x.axes() - axis), 1);
  return Shape(dims);
}

/// The second bottom reshaped to padded().
std::string padded_bottom(LayerWriter& layer, int axis) {
  const Operand& small = layer.x[1];
  const Shape shape = padded(small.shape, layer.x[0].shape, axis);
  if (shape == small.shape) return small.name;
  std::vector<int> axes;
  for (int i = 0; i < shape.axes(); ++i) axes.push_back(i < small.shape.axes() ? i : -1);
  return layer.reshaped(small, LayerWriter::shaped(small, shape, axes));
}

std::vector<Shape> shapes_of(const LayerWriter& layer) {
  std::vector<Shape> shapes;
  for (const Operand& operand : layer.x) shapes.push_back(operand.shape);
  return shapes;
}

void write_scale(LayerWriter& layer) {
  const auto& param = layer.config.scale_param();
  const Shape& x = layer.x[0].shape;
  const Broadcast small = broadcast_of(shapes_of(layer), param.axis(), param.num_axes(), "scale_param");
  const bool learned = layer.x.size() == 1;
  const std::string factor =
      learned ? layer.weight(0, padded(small.shape, x, small.axis)) : padded_bottom(layer, small.axis);
  const Operation product = {"Mul", {layer.x[0].name, factor}};
  if (!param.bias_term()) return layer.finish(product);
  layer.finish({"Add", {layer.add(product), layer.weight(learned, padded(small.shape, x, small.axis))}});
}

void write_bias(LayerWriter& layer) {
  const auto& param = layer.config.bias_param();
  const Broadcast small = broadcast_of(shapes_of(layer), param.axis(), param.num_axes(), "bias_param");
  const std::string term = layer.x.size() == 1 ? layer.weight(0, padded(small.shape, layer.x[0].shape, small.axis))
                                               : padded_bottom(layer, small.axis);
  layer.finish({"Add", {layer.x[0].name, term}});
}

/// a x + z; a is N x C, optionally with trailing axes of 1.
void write_axpy(LayerWriter& layer) {
  const Operand &a = layer.x[0], &x = layer.x[1];
  std::vector<int64_t> dims(size_t(x.shape.axes()), 1);
  dims[0] = x.shape[0], dims[1] = x.shape[1];
  std::vector<int> axes(dims.size(), -1);
  axes[0] = 0, axes[1] = 1;
  const Operand factor = LayerWriter::shaped(a, Shape(dims), axes);
  const std::string name = factor.shape == a.shape ? a.name : layer.reshaped(a, factor);
  layer.finish({"Add", {layer.add({"Mul", {x.name, name}}), layer.x[2].name}});
}

/// Reduces all axes from `axis` on.
void write_reduction(LayerWriter& layer) {
  const auto& param = layer.config.reduction_param();
  const Shape& x = layer.x[0].shape;
  std::vector<int64_t> axes;
  for (int axis = x.canonical_axis(param.axis()); axis < x.axes(); ++axis) axes.push_back(axis);
  const std::map<int, std::string> ops = {{caffe::ReductionParameter::SUM, "ReduceSum"},
                                          {caffe::ReductionParameter::ASUM, "ReduceL1"},
                                          {caffe::ReductionParameter::SUMSQ, "ReduceSumSquare"},
                                          {caffe::ReductionParameter::MEAN, "ReduceMean"}};
  Operation reduce = {ops.at(param.operation()), {layer.x[0].name}, {{"keepdims", int64_t(0)}}};
  float coeff = param.coeff();
  const bool sums = param.operation() == caffe::ReductionParameter::SUM;
  const bool by_mean = sums && layer.reader.replaces(Form::kSumInputs) && !layer.x[0].axis_is_dynamic(int(axes[0]));
  if (by_mean) {
    reduce.op = "ReduceMean";
    coeff *= float(x.count(int(axes[0])));
  }
  if (sums && !by_mean)
    reduce.inputs.push_back(layer.integers("axes", axes));
  else
    reduce.attributes.push_back({"axes", axes});
  if (coeff == 1) return layer.finish(reduce);
  layer.finish({"Mul", {layer.add(reduce), layer.number(coeff)}});
}

template <const char* kOperator>
void write_softmax(LayerWriter& layer) {
  const int64_t axis = layer.x[0].shape.canonical_axis(layer.config.softmax_param().axis());
  layer.finish({kOperator, {layer.x[0].name}, {{"axis", axis}}});
}
constexpr char kSoftmax[] = "Softmax", kLogSoftmax[] = "LogSoftmax";

}  // namespace

void add_arithmetic(Table& table) {
  table.insert({{"Eltwise", write_eltwise},
                {"Exp", write_exp},
                {"Log", write_log},
                {"Power", write_power},
                {"Scale", write_scale},
                {"Bias", write_bias},
                {"Axpy", write_axpy},
                {"Reduction", write_reduction},
                {"Softmax", write_softmax<kSoftmax>},
                {"VoxelSoftmax", write_softmax<kSoftmax>},
                {"LogSoftmax", write_softmax<kLogSoftmax>}});
}

}  // namespace cortado::exporting
