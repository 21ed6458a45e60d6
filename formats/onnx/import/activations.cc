// Element-wise functions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/import/arithmetic.h"
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

/// max(x, 0) - slope max(-x, 0), for slopes that a PReLU layer does not have.
void finish_with_slopes(NodeReader& node, const Blob& x) {
  const Blob above = node.add(NodeReader::layer("ReLU"), {x});
  const Blob below = powered(node, node.add(NodeReader::layer("ReLU"), {powered(node, x, -1)}), -1);
  const Blob scaled = node.add(combined_with_input(node, below, 1, true));
  node.finish(combined(node, above, scaled, false));
}

/// One slope, or one for each channel: C x 1 x ... x 1 for N x C x ...
void read_prelu(NodeReader& node) {
  const Blob x = node.x(0);
  if (!node.is_constant(1)) return finish_with_slopes(node, x);
  const ConstantPtr slopes = node.constant(1, "the slopes");
  const Shape& shape = slopes->shape;
  const int64_t count = shape.count();
  const int at = shape.axes() - x.shape.axes() + 1;  // the channel axis of the slopes
  const bool channels = x.shape.axes() > 1 && count == x.shape[1] && at >= 0 && shape[at] == count;
  if (count != 1 && !channels) return finish_with_slopes(node, x);
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

/// The mask of a Dropout that keeps everything is 1 everywhere.
void read_dropout(NodeReader& node) {
  if (node.bound("training_mode", 2).value_or(0) != 0)
    node.fail("training_mode is true, so the output is random", "export the model for inference");
  const Blob x = node.x(0);
  if (node.has_output(1)) node.set(1, filled(node, x, 1));
  caffe::LayerParameter layer = NodeReader::layer("Dropout");
  if (const auto ratio = node.bound("ratio", 1)) layer.mutable_dropout_param()->set_dropout_ratio(*ratio);
  node.finish(layer, {x});
}

caffe::LayerParameter eltwise_product() {
  caffe::LayerParameter layer = NodeReader::layer("Eltwise");
  layer.mutable_eltwise_param()->set_operation(caffe::EltwiseParameter::PROD);
  return layer;
}

/// x where it is above alpha, else 0: max(x, alpha), which is finite there, times [x > alpha].
void read_thresholded_relu(NodeReader& node) {
  const Blob x = node.x(0);
  const float alpha = node.real("alpha", 1);
  caffe::LayerParameter above = NodeReader::layer("Threshold");
  above.mutable_threshold_param()->set_threshold(alpha);
  node.finish(eltwise_product(), {node.add(clip_layer(alpha, kUnbounded), {x}), node.add(above, {x})});
}

/// x / (1 + |x|)
void read_softsign(NodeReader& node) {
  const Blob x = node.x(0);
  const Blob size = node.add(NodeReader::layer("AbsVal"), {x});
  node.finish(eltwise_product(), {x, powered(node, size, 1, 1, -1)});
}

/// alpha times the ELU of x / alpha.
void read_celu(NodeReader& node) {
  const float alpha = node.real("alpha", 1);
  if (!(alpha > 0)) node.fail("alpha of " + std::to_string(alpha) + " is not supported");
  if (alpha == 1) return node.finish(NodeReader::layer("ELU"), {node.x(0)});
  caffe::LayerParameter back = NodeReader::layer("Power");
  back.mutable_power_param()->set_scale(alpha);
  node.finish(back, {node.add(NodeReader::layer("ELU"), {powered(node, node.x(0), 1 / alpha)})});
}

void read_swish(NodeReader& node) {
  caffe::LayerParameter layer = NodeReader::layer("Swish");
  const float alpha = node.real("alpha", 1);
  if (alpha != 1) layer.mutable_swish_param()->set_beta(alpha);
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

/// Constant exponents: one, or several with one Power layer for each number, from whose results the model's are
/// selected.
void read_pow(NodeReader& node) {
  constexpr size_t kMaxExponents = 64;
  const ConstantPtr exponents = node.constant(1, "the exponent");
  std::vector<float> numbers = exponents->as_floats();
  const std::vector<float> all = numbers;
  if (std::ranges::any_of(numbers, [](float number) { return std::isnan(number); }))
    node.fail("an exponent is not a number");
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  if (exponents->count() == 1 && exponents->shape.axes() <= node.x(0).shape.axes())
    return finish_power(node, numbers[0], 1, 0);
  if (numbers.size() > kMaxExponents || numbers.empty())
    node.fail(std::to_string(numbers.size()) + " different exponents are not supported");
  const Shape common = common_shape(node, node.x(0).shape, exponents->shape);
  const Blob x = expanded(node, node.x(0), common);
  const int first = common.axes() - exponents->shape.axes();
  const int64_t places = common.count(first);
  if (places != exponents->shape.count())
    node.fail("exponents of shape " + exponents->shape.str() + " for " + common.str() + " are not supported");
  std::vector<int64_t> target(common.dims().begin(), common.dims().begin() + first), indices;
  target.push_back(places);
  std::vector<Blob> powers;
  for (const float number : numbers) powers.push_back(node.reshaped(powered(node, x, 1, 0, number), target));
  for (size_t i = 0; i < all.size(); ++i) {
    const auto found = std::lower_bound(numbers.begin(), numbers.end(), all[i]) - numbers.begin();
    indices.push_back(int64_t(found) * places + int64_t(i));
  }
  node.finish_reshaped(gathered(node, joined(node, powers, first), first, indices), common.dims());
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
                {"ThresholdedRelu", read_thresholded_relu},
                {"Softsign", read_softsign},
                {"Celu", read_celu},
                {"Swish", read_swish},
                {"Pow", read_pow},
                {"Sqrt", [](NodeReader& node) { finish_power(node, 0.5f, 1, 0); }},
                {"Reciprocal", [](NodeReader& node) { finish_power(node, -1, 1, 0); }},
                {"Neg", [](NodeReader& node) { finish_power(node, 1, -1, 0); }}});
}

}  // namespace cortado::importing
