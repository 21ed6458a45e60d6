#include <algorithm>
#include <cfloat>
#include <limits>
#include <numeric>

#include "onnx/import/arithmetic.h"
#include "onnx/import/composing.h"
#include "onnx/import/reductions.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

BlobFile weight(NodeReader& node, size_t i, const std::string& what, int64_t count) {
  const ConstantPtr values = node.constant(i, what);
  if (int64_t(values->count()) != count)
    node.fail(what + " have " + std::to_string(values->count()) + " values, but the input has " +
              std::to_string(count) + " to normalize");
  return weight_of(Shape{count}, values->as_floats());
}

int64_t channels_of(NodeReader& node, const Blob& x) {
  if (x.shape.axes() < 2) node.fail("its input, of shape " + x.shape.str() + ", has no channels");
  return x.shape[1];
}

/// A BatchNorm and a Scale, with the names that `cortado convert weights` uses.
void read_batch_norm(NodeReader& node) {
  if (node.integer("training_mode", 0) != 0 || (node.opset() < 14 && node.has_output(1)))
    node.fail("batch statistics are not supported", "export the model for inference");
  const Blob x = node.x(0);
  const int64_t channels = channels_of(node, x);
  const BlobFile factors = weight(node, 1, "the scales", channels), terms = weight(node, 2, "the biases", channels),
                 mean = weight(node, 3, "the means", channels), variance = weight(node, 4, "the variances", channels);
  caffe::LayerParameter norm = NodeReader::layer("BatchNorm");
  norm.set_name(node.name());
  norm.mutable_batch_norm_param()->set_eps(node.real("epsilon", 1e-5f));
  const Blob normalised = node.add(norm, {x}, {mean, variance, weight_of(Shape{1}, {1})});
  caffe::LayerParameter scale = NodeReader::layer("Scale");
  scale.set_name(node.name() + "_scale");
  scale.mutable_scale_param()->set_bias_term(true);
  node.finish(scale, {normalised}, {factors, terms});
}

void read_instance_norm(NodeReader& node) {
  const Blob x = node.x(0);
  const int64_t channels = channels_of(node, x);
  caffe::LayerParameter norm = NodeReader::layer("InstanceNorm");
  norm.mutable_instance_norm_param()->set_eps(node.real("epsilon", 1e-5f));
  norm.mutable_instance_norm_param()->set_affine(true);
  node.finish(norm, {x}, {weight(node, 1, "the scales", channels), weight(node, 2, "the biases", channels)});
}

/// Opset 18 has a scale and a bias for each group, opset 21 for each channel.
void read_group_norm(NodeReader& node) {
  const Blob x = node.x(0);
  const int64_t channels = channels_of(node, x), groups = node.integer("num_groups", 1);
  if (groups < 1 || channels % groups != 0)
    node.fail(std::to_string(groups) + " groups do not divide " + std::to_string(channels) + " channels");
  std::vector<BlobFile> weights;
  for (const size_t i : {size_t(1), size_t(2)}) {
    const std::vector<float> values = node.constant(i, "the scale or bias")->as_floats();
    const int64_t have = int64_t(values.size());
    if (have != channels && have != groups)
      node.fail("input " + std::to_string(i) + " has " + std::to_string(have) +
                " values, not one for each group or channel");
    std::vector<float> each;
    for (int64_t c = 0; c < channels; ++c) each.push_back(values[size_t(have == channels ? c : c * groups / channels)]);
    weights.push_back(weight_of(Shape{channels}, each));
  }
  caffe::LayerParameter norm = NodeReader::layer("GroupNorm");
  norm.mutable_group_norm_param()->set_group(uint32_t(groups));
  norm.mutable_group_norm_param()->set_eps(node.real("epsilon", 1e-5f));
  node.finish(norm, {x}, weights);
}

/// The second and third output of LayerNormalization: the mean, and 1 / sqrt(variance + epsilon).
void set_moments(NodeReader& node, const Blob& x, int axis) {
  if (!node.has_output(1) && !node.has_output(2)) return;
  const std::vector<int> axes = axes_from(x.shape, axis);
  const Blob mean = reduced(node, x, axes, caffe::ReductionParameter::MEAN);
  node.set(1, mean);
  if (!node.has_output(2)) return;
  const Blob centred = node.add(combined(node, x, powered(node, mean, -1), false));
  const Blob squares = powered(node, centred, 1, 0, 2);
  const Blob variance = reduced(node, squares, axes, caffe::ReductionParameter::MEAN);
  node.set(2, powered(node, variance, 1, node.real("epsilon", 1e-5f), -0.5f));
}

void read_layer_norm(NodeReader& node) {
  const Blob x = node.x(0);
  const int axis = node.axis_of(x.shape, node.integer("axis", -1));
  const int64_t count = x.shape.count(axis);
  std::vector<BlobFile> weights = {weight(node, 1, "the scales", count)};
  weights.push_back(node.has_input(2) ? weight(node, 2, "the biases", count)
                                      : weight_of(Shape{count}, std::vector<float>(size_t(count), 0)));
  caffe::LayerParameter norm = NodeReader::layer("LayerNorm");
  norm.mutable_layer_norm_param()->set_axis(axis);
  norm.mutable_layer_norm_param()->set_eps(node.real("epsilon", 1e-5f));
  set_moments(node, x, axis);
  node.finish(norm, {x}, weights);
}

/// x / sqrt(the mean of x^2 + epsilon), times a scale.
void read_rms_norm(NodeReader& node) {
  const Blob x = node.x(0);
  const std::vector<int> axes = axes_from(x.shape, node.axis_of(x.shape, node.integer("axis", -1)));
  const Blob mean = reduced(node, powered(node, x, 1, 0, 2), axes, caffe::ReductionParameter::MEAN);
  const Blob inverse = powered(node, mean, 1, node.real("epsilon", 1e-5f), -0.5f);
  node.finish(combined_with_input(node, node.add(combined(node, x, inverse, true)), 1, true));
}

/// (x - mean) / (deviation + 1e-9), each over the axes, which may include the batch.
void read_mean_variance_norm(NodeReader& node) {
  const Blob x = node.x(0);
  std::vector<int> axes;
  for (const int64_t axis : node.integers("axes", {0, 2, 3})) axes.push_back(node.axis_of(x.shape, axis));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  const Blob mean = reduced(node, x, axes, caffe::ReductionParameter::MEAN);
  const Blob centred = node.add(combined(node, x, powered(node, mean, -1), false));
  const Blob variance = reduced(node, powered(node, centred, 1, 0, 2), axes, caffe::ReductionParameter::MEAN);
  const Blob deviation = powered(node, variance, 1, 0, 0.5f);
  node.finish(combined(node, centred, powered(node, deviation, 1, 1e-9f, -1), true));
}

void read_lrn(NodeReader& node) {
  caffe::LayerParameter layer = NodeReader::layer("LRN");
  auto& param = *layer.mutable_lrn_param();
  param.set_local_size(uint32_t(node.integer("size", 0)));
  param.set_alpha(node.real("alpha", 1e-4f));
  param.set_beta(node.real("beta", 0.75f));
  param.set_k(node.real("bias", 1));
  node.finish(layer, {node.x(0)});
}

/// Divides by the sum of the absolute values; zeros stay zeros.
void finish_l1(NodeReader& node, const Blob& x, int axis) {
  const Blob sum = reduced(node, x, {axis}, caffe::ReductionParameter::ASUM);
  const Blob positive = node.add(clip_layer(FLT_MIN, std::numeric_limits<float>::infinity()), {sum});
  node.finish(combined(node, x, powered(node, positive, 1, 0, -1), true));
}

/// The layer takes the L2 norm over channels, so that another axis becomes the channels. ONNX adds no epsilon and maps
/// zero vectors to zero, so use the smallest eps, which does the same.
void read_lp_normalization(NodeReader& node) {
  const Blob x = node.x(0);
  const int axis = node.axis_of(x.shape, node.integer("axis", -1));
  if (node.integer("p", 2) == 1) return finish_l1(node, x, axis);
  if (node.integer("p", 2) != 2) node.fail("p of " + std::to_string(node.integer("p", 2)) + " is not supported");
  caffe::LayerParameter layer = NodeReader::layer("Normalize");
  layer.mutable_norm_param()->set_across_spatial(false);
  layer.mutable_norm_param()->set_channel_shared(true);
  layer.mutable_norm_param()->set_eps(FLT_MIN);
  if (axis == 1) return node.finish(layer, {x}, {weight_of(Shape{1}, {1})});
  if (x.shape.axes() == 1) {
    const Blob y = node.add(layer, {node.reshaped(x, {1, -1})}, {weight_of(Shape{1}, {1})});
    return node.finish_reshaped(y, {-1});
  }
  std::vector<int64_t> order(static_cast<size_t>(x.shape.axes()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[1], order[size_t(axis)]);
  const Blob y = node.add(layer, {node.permuted(x, order)}, {weight_of(Shape{1}, {1})});
  node.finish_permuted(y, order);
}

}  // namespace

void add_norms(Table& table) {
  table.insert({{"BatchNormalization", read_batch_norm},
                {"InstanceNormalization", read_instance_norm},
                {"GroupNormalization", read_group_norm},
                {"LayerNormalization", read_layer_norm},
                {"RMSNormalization", read_rms_norm},
                {"MeanVarianceNormalization", read_mean_variance_norm},
                {"LRN", read_lrn},
                {"LpNormalization", read_lp_normalization}});
}

}  // namespace cortado::importing
