// Normalizations, with the statistics of phase TEST.
#include <cmath>

#include "layers/common/weights/normalize_form.h"
#include "onnx/export/operators.h"
#include "onnx/export/table.h"
#include "proto/upgrade/bn_form.h"
#include "proto/weights/batch_norm_form.h"

namespace cortado::exporting {

namespace {

using Floats = std::vector<float>;

/// One number for each channel, broadcast over the axes after the channels.
Shape channel_shape(const Operand& x) {
  std::vector<int64_t> dims(size_t(std::max(1, x.shape.axes() - 1)), 1);
  dims[0] = x.shape[1];
  return Shape(dims);
}

void finish_with_relu(LayerWriter& layer, const Operation& norm, bool relu) {
  if (!relu) return layer.finish(norm);
  layer.finish({"Relu", {layer.add(norm)}});
}

std::string mean_over(LayerWriter& layer, const std::string& x, const std::vector<int64_t>& axes) {
  return layer.add({"ReduceMean", {x}, {{"axes", axes}, {"keepdims", int64_t(1)}}});
}

/// (x - mean) / sqrt(variance + eps), with the statistics of the batch.
Operation with_batch_statistics(LayerWriter& layer, float eps) {
  const Operand& x = layer.x[0];
  std::vector<int64_t> axes;
  for (int axis = 0; axis < x.shape.axes(); ++axis)
    if (axis != 1) axes.push_back(axis);
  const std::string difference = layer.add({"Sub", {x.name, mean_over(layer, x.name, axes)}});
  const std::string variance = mean_over(layer, layer.add({"Mul", {difference, difference}}), axes);
  const std::string deviation = layer.add({"Sqrt", {layer.add({"Add", {variance, layer.number(eps)}})}});
  return {"Div", {difference, deviation}};
}

void write_batch_norm(LayerWriter& layer) {
  const auto& param = layer.config.batch_norm_param();
  const BatchNormForm form = form_of(param);
  if (param.has_use_global_stats() && !param.use_global_stats() && !form.nvidia) {
    Operation norm = with_batch_statistics(layer, form.eps);
    if (form.scales) norm = {"Mul", {layer.add(norm), layer.weight(3, channel_shape(layer.x[0]))}};
    if (form.shifts) norm = {"Add", {layer.add(norm), layer.weight(4, channel_shape(layer.x[0]))}};
    return finish_with_relu(layer, norm, param.relu());
  }
  const int64_t channels = layer.x[0].shape[1];
  const Shape shape = {channels};
  const std::string gamma =
      form.scales ? layer.weight(3, shape) : layer.floats("scale", shape, Floats(size_t(channels), 1));
  const std::string beta = form.shifts ? layer.weight(4, shape) : layer.floats("B", shape, Floats(size_t(channels), 0));
  finish_with_relu(
      layer,
      {"BatchNormalization",
       {layer.x[0].name, gamma, beta, running_average(layer, "mean", 0, 2), running_average(layer, "var", 1, 2)},
       {{"epsilon", form.eps}}},
      param.relu());
}

float bn_eps(const caffe::BNParameter& param) { return param.has_var_eps() ? param.var_eps() : param.eps(); }

/// x times blob 0 plus blob 1, by channel.
void finish_affine(LayerWriter& layer, const std::string& x) {
  const Shape shape = channel_shape(layer.x[0]);
  layer.finish({"Add", {layer.add({"Mul", {x, layer.weight(0, shape)}}), layer.weight(1, shape)}});
}

void write_bn(LayerWriter& layer) {
  const auto& param = layer.config.bn_param();
  const Shape shape = {layer.x[0].shape[1]};
  if (layer.y.size() > 1)
    layer.refuse("the mean and variance of the batch cannot be outputs", "remove these tops", "top");
  switch (form_of(layer.config)) {
    case BnForm::kBatch:
      return finish_affine(layer, layer.add(with_batch_statistics(layer, bn_eps(param))));
    case BnForm::kStored:
      return finish_affine(layer, layer.x[0].name);
    case BnForm::kRunning:
      break;
  }
  layer.finish({"BatchNormalization",
                {layer.x[0].name, layer.weight(0, shape), layer.weight(1, shape), layer.weight(2, shape),
                 layer.weight(3, shape)},
                {{"epsilon", bn_eps(param)}}});
}

void write_instance_norm(LayerWriter& layer) {
  const auto& param = layer.config.instance_norm_param();
  const size_t channels = size_t(layer.x[0].shape[1]);
  const Shape shape = {int64_t(channels)};
  const std::string factor =
                        param.affine() ? layer.weight(0, shape) : layer.floats("scale", shape, Floats(channels, 1)),
                    term = param.affine() ? layer.weight(1, shape) : layer.floats("B", shape, Floats(channels, 0));
  layer.finish({"InstanceNormalization", {layer.x[0].name, factor, term}, {{"epsilon", param.eps()}}});
}

/// GroupNormalization requires opset 18, so groups become the channels of an InstanceNormalization.
void write_group_norm(LayerWriter& layer) {
  const auto& param = layer.config.group_norm_param();
  const Operand& x = layer.x[0];
  const int64_t groups = param.group();
  const Operand parts = LayerWriter::shaped(x, {x.shape[0], groups, x.shape.count(1) / groups}, {0, -1, -1});
  const Shape shape = {groups};
  const std::string norm =
      layer.add({"InstanceNormalization",
                 {layer.reshaped(x, parts), layer.floats("scale", shape, Floats(size_t(groups), 1)),
                  layer.floats("B", shape, Floats(size_t(groups), 0))},
                 {{"epsilon", param.eps()}}});
  const Operation whole = {"Reshape", {norm, layer.integers("shape", layer.reshape_target(parts, x))}};
  if (!param.affine()) return layer.finish(whole);
  finish_affine(layer, layer.add(whole));
}

void write_layer_norm(LayerWriter& layer) {
  const auto& param = layer.config.layer_norm_param();
  const Shape& x = layer.x[0].shape;
  const int axis = x.canonical_axis(param.axis());
  const Shape shape(std::vector<int64_t>(x.dims().begin() + axis, x.dims().end()));
  std::vector<std::string> inputs = {layer.x[0].name};
  if (param.affine()) {
    inputs.push_back(layer.weight(0));
    inputs.push_back(layer.weight(1));
  } else {
    inputs.push_back(layer.floats("scale", shape, Floats(size_t(shape.count()), 1)));
  }
  layer.finish({"LayerNormalization", inputs, {{"axis", int64_t(axis)}, {"epsilon", param.eps()}}});
}

/// x / (k + alpha / n * sum of x^2)^beta over a spatial window, with k = 1: an average of squares that counts padding.
void write_lrn_within(LayerWriter& layer) {
  const auto& param = layer.config.lrn_param();
  const int64_t size = param.local_size(), pad = (size - 1) / 2;
  const std::string& x = layer.x[0].name;
  const std::string zeros = layer.integers("pads", {0, 0, pad, pad, 0, 0, pad, pad});
  const std::string mean =
      layer.add({"AveragePool",
                 {layer.add({"Pad", {layer.add({"Mul", {x, x}}), zeros}})},
                 {{"kernel_shape", std::vector<int64_t>{size, size}}, {"strides", std::vector<int64_t>{1, 1}}}});
  const std::string sum =
      layer.add({"Add", {layer.add({"Mul", {mean, layer.number(param.alpha())}}), layer.number(1)}});
  layer.finish({"Div", {x, layer.add({"Pow", {sum, layer.number(param.beta())}})}});
}

void write_lrn(LayerWriter& layer) {
  const auto& param = layer.config.lrn_param();
  if (param.norm_region() == caffe::LRNParameter::WITHIN_CHANNEL) return write_lrn_within(layer);
  layer.finish(
      {"LRN",
       {layer.x[0].name},
       {{"size", int64_t(param.local_size())}, {"alpha", param.alpha()}, {"beta", param.beta()}, {"bias", param.k()}}});
}

std::vector<int64_t> axes_from(const Operand& x, int first) {
  std::vector<int64_t> axes;
  for (int axis = first; axis < x.shape.axes(); ++axis) axes.push_back(axis);
  return axes;
}

/// (x - mean) / (deviation + eps): Caffe adds eps to the standard deviation.
void write_mvn(LayerWriter& layer) {
  const auto& param = layer.config.mvn_param();
  const Operand& x = layer.x[0];
  const std::vector<int64_t> axes = axes_from(x, param.across_channels() ? 1 : 2);
  const Operation centred = {"Sub", {x.name, mean_over(layer, x.name, axes)}};
  if (!param.normalize_variance()) return layer.finish(centred);
  const std::string difference = layer.add(centred);
  const std::string deviation =
      layer.add({"Sqrt", {mean_over(layer, layer.add({"Mul", {difference, difference}}), axes)}});
  layer.finish({"Div", {difference, layer.add({"Add", {deviation, layer.number(param.eps())}})}});
}

/// x / sqrt(sum of x^2 + eps), or x / (sum of |x| + eps), times a learned scale if the layer has one.
void write_normalize(LayerWriter& layer) {
  const NormalizeForm form = normalize_form(layer.config);
  const auto& param = form.options;
  const Operand& x = layer.x[0];
  const std::vector<int64_t> axes = param.across_spatial() ? axes_from(x, 1) : std::vector<int64_t>{1};
  const std::string sum =
      layer.add({form.absolute ? "ReduceL1" : "ReduceSumSquare", {x.name}, {{"axes", axes}, {"keepdims", int64_t(1)}}});
  const std::string shifted = layer.add({"Add", {sum, layer.number(param.eps())}});
  const Operation divided = {"Div", {x.name, form.absolute ? shifted : layer.add({"Sqrt", {shifted}})}};
  if (!form.scales) return layer.finish(divided);
  const Shape scale = param.channel_shared() ? Shape{1} : channel_shape(x);
  layer.finish({"Mul", {layer.add(divided), layer.weight(0, scale)}});
}

}  // namespace

void add_norms(Table& table) {
  table.insert({{"BatchNorm", write_batch_norm},
                {"BN", write_bn},
                {"SyncBN", write_bn},
                {"InstanceNorm", write_instance_norm},
                {"GroupNorm", write_group_norm},
                {"LayerNorm", write_layer_norm},
                {"LRN", write_lrn},
                {"MVN", write_mvn},
                {"Normalize", write_normalize}});
}

}  // namespace cortado::exporting
