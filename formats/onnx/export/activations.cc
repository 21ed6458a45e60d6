// Element-wise functions.
#include <cmath>

#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

void write_relu(LayerWriter& layer) {
  const float slope = layer.config.relu_param().negative_slope();
  if (slope == 0) return layer.finish({"Relu", {layer.x[0].name}});
  layer.finish({"LeakyRelu", {layer.x[0].name}, {{"alpha", slope}}});
}

/// HardSigmoid and a scale do the same as Clip.
void finish_clip(LayerWriter& layer, float low, float high) {
  const std::string& x = layer.x[0].name;
  if (!layer.reader.replaces(Form::kClipInputs))
    return layer.finish({"Clip", {x, layer.number(low), layer.number(high)}});
  const float width = high - low;
  const std::string share = layer.add({"HardSigmoid", {x}, {{"alpha", 1 / width}, {"beta", -low / width}}});
  const Operation scaled = {"Mul", {share, layer.number(width)}};
  if (low == 0) return layer.finish(scaled);
  layer.finish({"Add", {layer.add(scaled), layer.number(low)}});
}

void write_relu6(LayerWriter& layer) {
  if (layer.config.relu_param().negative_slope() != 0)
    layer.refuse("a negative slope has no ONNX operator", {}, "relu_param.negative_slope");
  finish_clip(layer, 0, 6);
}

void write_clip(LayerWriter& layer) {
  finish_clip(layer, layer.config.clip_param().min(), layer.config.clip_param().max());
}

/// A slope for each channel is broadcast over the axes after the channels.
void write_prelu(LayerWriter& layer) {
  std::vector<int64_t> dims(layer.config.prelu_param().channel_shared() ? 0 : size_t(layer.x[0].shape.axes() - 1), 1);
  if (!dims.empty()) dims[0] = layer.x[0].shape[1];
  layer.finish({"PRelu", {layer.x[0].name, layer.weight(0, Shape(dims.empty() ? std::vector<int64_t>{1} : dims))}});
}

void write_elu(LayerWriter& layer) {
  const auto& param = layer.config.elu_param();
  const Operation elu = {"Elu", {layer.x[0].name}, {{"alpha", param.alpha()}}};
  if (param.lambda() == 1) return layer.finish(elu);
  layer.finish({"Mul", {layer.add(elu), layer.number(param.lambda())}});
}

template <const char* kOp>
void write_plain(LayerWriter& layer) {
  layer.finish({kOp, {layer.x[0].name}});
}
constexpr char kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kAbs[] = "Abs", kSoftplus[] = "Softplus",
               kHardSwish[] = "HardSwish";

void write_hard_sigmoid(LayerWriter& layer) {
  const auto& param = layer.config.hard_sigmoid_param();
  layer.finish({"HardSigmoid", {layer.x[0].name}, {{"alpha", param.alpha()}, {"beta", param.beta()}}});
}

/// Opset 17 has no operator for Mish or Swish.
void write_mish(LayerWriter& layer) {
  const std::string& x = layer.x[0].name;
  layer.finish({"Mul", {x, layer.add({"Tanh", {layer.add({"Softplus", {x}})}})}});
}

void write_swish(LayerWriter& layer) {
  const std::string& x = layer.x[0].name;
  const float beta = layer.config.swish_param().beta();
  const std::string scaled = beta == 1 ? x : layer.add({"Mul", {x, layer.number(beta)}});
  layer.finish({"Mul", {x, layer.add({"Sigmoid", {scaled}})}});
}

/// x P(x), with P = (1 + erf(x / sqrt 2)) / 2 or (1 + tanh(k (x + 0.044715 x^3))) / 2, k = sqrt(2 / pi). (1 + tanh(a))
/// / 2 is sigmoid(2 a).
void write_gelu(LayerWriter& layer) {
  const std::string& x = layer.x[0].name;
  std::string f;
  if (layer.config.gelu_param().approximate()) {
    const std::string cube = layer.add({"Mul", {x, layer.add({"Mul", {x, x}})}});
    const std::string sum = layer.add({"Add", {x, layer.add({"Mul", {cube, layer.number(0.044715f)}})}});
    const float k = float(std::sqrt(2 / M_PI));
    if (layer.reader.replaces(Form::kGeluByTanh))
      return layer.finish({"Mul", {x, layer.add({"Sigmoid", {layer.add({"Mul", {sum, layer.number(2 * k)}})}})}});
    f = layer.add({"Tanh", {layer.add({"Mul", {sum, layer.number(k)}})}});
  } else {
    f = layer.add({"Erf", {layer.add({"Div", {x, layer.number(float(M_SQRT2))}})}});
  }
  const std::string product = layer.add({"Mul", {x, layer.add({"Add", {f, layer.number(1)}})}});
  layer.finish({"Mul", {product, layer.number(0.5f)}});
}

/// As in phase TEST: the pass count is a weight of the layer and stays constant.
void write_scale_tanh(LayerWriter& layer) {
  const auto& param = layer.config.scale_tanh_param();
  const double passes = layer.values(0)[0], step = std::max<double>(1, param.step_size());
  const double factor = double(param.init_scale()) *
                        std::pow(1 + double(param.gamma()) * std::floor(passes / step) * step, double(param.power()));
  layer.finish({"Tanh", {layer.add({"Mul", {layer.x[0].name, layer.number(float(factor))}})}});
}

void write_threshold(LayerWriter& layer) {
  const std::string above =
      layer.add({"Greater", {layer.x[0].name, layer.number(layer.config.threshold_param().threshold())}});
  layer.finish({"Cast", {above}, {{"to", int64_t(onnx::TensorProto::FLOAT)}}});
}

/// The identity in phase TEST, except for Fast R-CNN's form, which scales there.
void write_dropout(LayerWriter& layer) {
  const auto& param = layer.config.dropout_param();
  if (param.sample_weights_test())
    layer.refuse("it zeroes values at random", "remove sample_weights_test", "dropout_param.sample_weights_test");
  if (!param.scale_train()) return layer.finish({"Mul", {layer.x[0].name, layer.number(1 - param.dropout_ratio())}});
  layer.finish({"Dropout", {layer.x[0].name, layer.number(param.dropout_ratio())}});
}

}  // namespace

void add_activations(Table& table) {
  table.insert({{"ReLU", write_relu},
                {"ReLU6", write_relu6},
                {"Clip", write_clip},
                {"PReLU", write_prelu},
                {"ELU", write_elu},
                {"Sigmoid", write_plain<kSigmoid>},
                {"TanH", write_plain<kTanh>},
                {"AbsVal", write_plain<kAbs>},
                {"BNLL", write_plain<kSoftplus>},
                {"HardSwish", write_plain<kHardSwish>},
                {"HardSigmoid", write_hard_sigmoid},
                {"Mish", write_mish},
                {"Swish", write_swish},
                {"GELU", write_gelu},
                {"ScaleTanH", write_scale_tanh},
                {"Threshold", write_threshold},
                {"Dropout", write_dropout},
                {"SpatialDropout", [](LayerWriter& layer) {
                   layer.finish({"Identity", {layer.x[0].name}});
                 }}});
}

}  // namespace cortado::exporting
