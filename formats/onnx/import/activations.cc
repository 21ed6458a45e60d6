// Element-wise functions.
#include <cmath>
#include <limits>

#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

template <const char* kType>
void read_plain(NodeReader& node) {
  node.finish(NodeReader::layer(kType), {node.x(0)});
}
constexpr char kReLU[] = "ReLU", kSigmoid[] = "Sigmoid", kTanH[] = "TanH", kAbsVal[] = "AbsVal", kBnll[] = "BNLL",
               kHardSwish[] = "HardSwish", kMish[] = "Mish", kExp[] = "Exp", kLog[] = "Log";

void read_leaky_relu(NodeReader& node) {
  caffe::LayerParameter layer = NodeReader::layer("ReLU");
  layer.mutable_relu_param()->set_negative_slope(node.real("alpha", 0.01f));
  node.finish(layer, {node.x(0)});
}

void read_elu(NodeReader& node) {
  caffe::LayerParameter layer = NodeReader::layer("ELU");
  layer.mutable_elu_param()->set_alpha(node.real("alpha", 1));
  node.finish(layer, {node.x(0)});
}

void read_selu(NodeReader& node) {
  caffe::LayerParameter layer = NodeReader::layer("ELU");
  layer.mutable_elu_param()->set_alpha(node.real("alpha", 1.67326319217681884765625f));
  layer.mutable_elu_param()->set_lambda(node.real("gamma", 1.05070102214813232421875f));
  node.finish(layer, {node.x(0)});
}

/// One slope, or one for each channel: C x 1 x ... x 1 for N x C x ...
void read_prelu(NodeReader& node) {
  const Blob x = node.x(0);
  const ConstantPtr slopes = node.constant(1, "the slopes");
  const Shape& shape = slopes->shape;
  const int64_t count = shape.count();
  const int at = shape.axes() - x.shape.axes() + 1;  // the channel axis of the slopes
  const bool channels = x.shape.axes() > 1 && count == x.shape[1] && at >= 0 && shape[at] == count;
  if (count != 1 && !channels)
    node.fail("slopes of shape " + shape.str() + " do not match an input of " + x.shape.str(),
              "use one slope, or one for each channel");
  caffe::LayerParameter layer = NodeReader::layer("PReLU");
  if (!channels) layer.mutable_prelu_param()->set_channel_shared(true);
  node.finish(layer, {x}, {weight_of(channels ? Shape{count} : Shape{}, slopes->as_floats())});
}

constexpr float kUnbounded = std::numeric_limits<float>::infinity();

/// If the lower bound is above the upper one, all values become the upper one.
void read_clip(NodeReader& node) {
  const float low = node.bound("min", 1).value_or(-kUnbounded), high = node.bound("max", 2).value_or(kUnbounded);
  if (std::isnan(low) || std::isnan(high)) node.fail("a bound is not a number");
  if (low <= high) return node.finish(clip_layer(low, high), {node.x(0)});
  node.finish(clip_layer(-kUnbounded, high), {node.add(clip_layer(low, kUnbounded), {node.x(0)})});
}

void read_hard_sigmoid(NodeReader& node) {
  caffe::LayerParameter layer = NodeReader::layer("HardSigmoid");
  layer.mutable_hard_sigmoid_param()->set_alpha(node.real("alpha", 0.2f));
  layer.mutable_hard_sigmoid_param()->set_beta(node.real("beta", 0.5f));
  node.finish(layer, {node.x(0)});
}

void read_gelu(NodeReader& node) {
  caffe::LayerParameter layer = NodeReader::layer("GELU");
  if (node.text("approximate", "none") == "tanh") layer.mutable_gelu_param()->set_approximate(true);
  node.finish(layer, {node.x(0)});
}

void read_dropout(NodeReader& node) {
  if (node.has_output(1)) node.fail("the second output, the mask, is not supported");
  if (node.bound("training_mode", 2).value_or(0) != 0)
    node.fail("training_mode is true, so the output is random", "export the model for inference");
  caffe::LayerParameter layer = NodeReader::layer("Dropout");
  if (const auto ratio = node.bound("ratio", 1)) layer.mutable_dropout_param()->set_dropout_ratio(*ratio);
  node.finish(layer, {node.x(0)});
}

/// (shift + scale x)^power.
void finish_power(NodeReader& node, float power, float scale, float shift) {
  caffe::LayerParameter layer = NodeReader::layer("Power");
  if (power != 1) layer.mutable_power_param()->set_power(power);
  if (scale != 1) layer.mutable_power_param()->set_scale(scale);
  if (shift != 0) layer.mutable_power_param()->set_shift(shift);
  node.finish(layer, {node.x(0)});
}

void read_pow(NodeReader& node) {
  const ConstantPtr exponent = node.constant(1, "the exponent");
  if (exponent->count() != 1)
    node.fail("exponents of shape " + exponent->shape.str() + " are not supported", "use one number");
  finish_power(node, float(exponent->at(0)), 1, 0);
}

}  // namespace

void add_activations(Table& table) {
  table.insert({{"Relu", read_plain<kReLU>},
                {"Sigmoid", read_plain<kSigmoid>},
                {"Tanh", read_plain<kTanH>},
                {"Abs", read_plain<kAbsVal>},
                {"Softplus", read_plain<kBnll>},
                {"HardSwish", read_plain<kHardSwish>},
                {"Mish", read_plain<kMish>},
                {"Exp", read_plain<kExp>},
                {"Log", read_plain<kLog>},
                {"LeakyRelu", read_leaky_relu},
                {"Elu", read_elu},
                {"Selu", read_selu},
                {"PRelu", read_prelu},
                {"Clip", read_clip},
                {"HardSigmoid", read_hard_sigmoid},
                {"Gelu", read_gelu},
                {"Dropout", read_dropout},
                {"Pow", read_pow},
                {"Sqrt", [](NodeReader& node) { finish_power(node, 0.5f, 1, 0); }},
                {"Reciprocal", [](NodeReader& node) { finish_power(node, -1, 1, 0); }},
                {"Neg", [](NodeReader& node) { finish_power(node, 1, -1, 0); }}});
}

}  // namespace cortado::importing
