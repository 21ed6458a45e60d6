#include <cfloat>

#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

BlobFile weight(NodeReader& node, size_t i, const std::string& what, int64_t count) {
  const ConstantPtr values = node.constant(i, what);
  if (int64_t(values->count()) != count)
    node.fail(what + " are " + std::to_string(values->count()) + ", and there are " + std::to_string(count) +
              " to normalise");
  return weight_of(Shape{count}, values->as_floats());
}

int64_t channels_of(NodeReader& node, const Blob& x) {
  if (x.shape.axes() < 2) node.fail("its input, of shape " + x.shape.str() + ", has no channels");
  return x.shape[1];
}

/// A BatchNorm, and a Scale behind it, named as `cortado convert weights` does.
void read_batch_norm(NodeReader& node) {
  if (node.integer("training_mode", 0) != 0 || (node.opset() < 14 && node.has_output(1)))
    node.fail("it normalises by the statistics of each batch", "export the model for inference");
  const Blob x = node.x(0);
  const int64_t channels = channels_of(node, x);
  const BlobFile factors = weight(node, 1, "its factors", channels), terms = weight(node, 2, "its terms", channels),
                 mean = weight(node, 3, "its means", channels), variance = weight(node, 4, "its variances", channels);
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
  node.finish(norm, {x}, {weight(node, 1, "its factors", channels), weight(node, 2, "its terms", channels)});
}

/// Opset 18 had a factor and a term for each group, 21 has one for each channel.
void read_group_norm(NodeReader& node) {
  const Blob x = node.x(0);
  const int64_t channels = channels_of(node, x), groups = node.integer("num_groups", 1);
  if (groups < 1 || channels % groups != 0)
    node.fail(std::to_string(groups) + " groups of " + std::to_string(channels) + " channels");
  std::vector<BlobFile> weights;
  for (const size_t i : {size_t(1), size_t(2)}) {
    const std::vector<float> values = node.constant(i, "its factors and terms")->as_floats();
    const int64_t have = int64_t(values.size());
    if (have != channels && have != groups) node.fail("it has " + std::to_string(have) + " factors or terms");
    std::vector<float> each;
    for (int64_t c = 0; c < channels; ++c) each.push_back(values[size_t(have == channels ? c : c * groups / channels)]);
    weights.push_back(weight_of(Shape{channels}, each));
  }
  caffe::LayerParameter norm = NodeReader::layer("GroupNorm");
  norm.mutable_group_norm_param()->set_group(uint32_t(groups));
  norm.mutable_group_norm_param()->set_eps(node.real("epsilon", 1e-5f));
  node.finish(norm, {x}, weights);
}

void read_layer_norm(NodeReader& node) {
  if (node.has_output(1) || node.has_output(2)) node.fail("only its first output is read");
  const Blob x = node.x(0);
  const int axis = node.axis_of(x.shape, node.integer("axis", -1));
  const int64_t count = x.shape.count(axis);
  std::vector<BlobFile> weights = {weight(node, 1, "its factors", count)};
  weights.push_back(node.has_input(2) ? weight(node, 2, "its terms", count)
                                      : weight_of(Shape{count}, std::vector<float>(size_t(count), 0)));
  caffe::LayerParameter norm = NodeReader::layer("LayerNorm");
  norm.mutable_layer_norm_param()->set_axis(axis);
  norm.mutable_layer_norm_param()->set_eps(node.real("epsilon", 1e-5f));
  node.finish(norm, {x}, weights);
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

/// By the length of the channels at each place. ONNX adds nothing to it and makes zeros of zeros, as the least eps
/// does.
void read_lp_normalization(NodeReader& node) {
  const Blob x = node.x(0);
  if (node.integer("p", 2) != 2 || node.axis_of(x.shape, node.integer("axis", -1)) != 1)
    node.fail("only the L2 norm over the channels is read");
  caffe::LayerParameter layer = NodeReader::layer("Normalize");
  layer.mutable_norm_param()->set_across_spatial(false);
  layer.mutable_norm_param()->set_channel_shared(true);
  layer.mutable_norm_param()->set_eps(FLT_MIN);
  node.finish(layer, {x}, {weight_of(Shape{1}, {1})});
}

}  // namespace

void add_norms(Table& table) {
  table.insert({{"BatchNormalization", read_batch_norm},
                {"InstanceNormalization", read_instance_norm},
                {"GroupNormalization", read_group_norm},
                {"LayerNormalization", read_layer_norm},
                {"LRN", read_lrn},
                {"LpNormalization", read_lp_normalization}});
}

}  // namespace cortado::importing
