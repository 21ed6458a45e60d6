#include "net/calibration.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "graph/passes/passes.h"

namespace cortado {

namespace {

constexpr float kLargestSigned = 127, kLargestUnsigned = 255;

void clear_scales(caffe::NetParameter& net) {
  for (caffe::LayerParameter& layer : *net.mutable_layer()) layer.clear_quantization_param();
}

/// Sets all scales to 1, so that the graph runs every layer on integers that can.
std::shared_ptr<const NetFile> with_any_scales(const NetFile& file) {
  auto changed = std::make_shared<NetFile>(file);
  for (caffe::LayerParameter& layer : *changed->net.mutable_layer()) {
    layer.clear_quantization_param();
    caffe::QuantizationParameter& param = *layer.mutable_quantization_param();
    param.set_bw_layer_in(8), param.set_bw_layer_out(8), param.set_bw_params(8);
    param.add_scale_in(1), param.add_scale_out(1), param.add_scale_params(1);
    param.set_is_negative_input(true);
  }
  return changed;
}

void freeze(graph::BuildOptions& options) {
  options.backward = false;
  options.frozen = true;
}

float scale_for(float bound, float largest) { return largest / bound; }

}  // namespace

std::vector<QuantizableLayer> quantizable_layers(const NetFile& file, graph::BuildOptions options) {
  freeze(options);
  options.eight_bits = true;
  graph::Graph graph = graph::build(with_any_scales(file), options);
  graph::run_passes(graph, "use_8_bits");
  std::vector<const graph::Node*> with_weights;
  for (const graph::Node& node : graph.nodes)
    if (!node.w.empty()) with_weights.push_back(&node);
  std::vector<QuantizableLayer> layers;
  for (const graph::Node* node : with_weights) {
    if (!node->eight_bits || graph::storage_of(*node).eight_bits != EightBitRule::kComputes) continue;
    QuantizableLayer layer{.name = graph.source(node->sources[0]).config->name(), .node = node->name};
    layer.x_is_unsigned = node->eight_bits->x.dtype == DType::kU8;
    layer.y_is_unsigned = graph::is_never_negative(graph, *node);
    layer.last = node == with_weights.back();
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::shared_ptr<const NetFile> without_scales(const NetFile& file) { return with_scales(file, {}); }

std::shared_ptr<const NetFile> with_scales(const NetFile& file,
                                           const std::map<std::string, caffe::QuantizationParameter>& layers) {
  auto changed = std::make_shared<NetFile>(file);
  clear_scales(changed->net);
  for (caffe::LayerParameter& layer : *changed->net.mutable_layer())
    if (const auto found = layers.find(layer.name()); found != layers.end())
      *layer.mutable_quantization_param() = found->second;
  return changed;
}

Calibration::Calibration(Net& net, std::vector<QuantizableLayer> layers) : net_(net) {
  for (QuantizableLayer& layer : layers) {
    const graph::Node& node = node_named(layer.node);
    layers_.push_back({std::move(layer), node.x[0], node.y[0], largest_weights(node)});
    for (const graph::ValueId id : {node.x[0], node.y[0]}) ranges_[id];
  }
}

/// A Reorder before a node copies its operands, so values are found through the node's name.
const graph::Node& Calibration::node_named(const std::string& name) const {
  for (const graph::Node& node : net_.plan().graph.nodes)
    if (node.name == name) return node;
  throw_internal("the net has no node '" + name + "' any more");
}

/// Memory is reused, so each value is read right after its step.
void Calibration::run_batch() {
  const graph::Plan& plan = net_.plan();
  for (size_t i = 0; i < net_.forward_steps(); ++i) {
    net_.run_forward_step(i);
    for (const graph::ValueId id : plan.graph.node(plan.forward[i].node).y) {
      const auto found = ranges_.find(id);
      if (found == ranges_.end()) continue;
      values_.resize(size_t(plan.graph.value(id).shape.count()));
      net_.read_blob_to(id, values_.data());
      found->second.add(values_.data(), int64_t(values_.size()));
    }
  }
}

/// The weights of each output are multiplied by what is folded into them (layers/common/weights/linear_weights.h).
std::vector<float> Calibration::largest_weights(const graph::Node& node) {
  std::vector<caffe::BlobProto> blobs;
  for (const int source : node.sources) {
    caffe::LayerParameter layer;
    net_.layer_to_proto(size_t(source), layer);
    blobs.insert(blobs.end(), layer.blobs().begin(), layer.blobs().end());
  }
  size_t of_followers = blobs.size();
  for (const kernels::ChannelAffine& affine : node.post.affine) of_followers -= affine.weights();
  std::vector<const float*> folded;
  for (size_t i = of_followers; i < blobs.size(); ++i) folded.push_back(blobs[i].data().data());
  const int64_t outputs = net_.plan().graph.weight(node.w[0]).spec.shape[0];
  const kernels::ChannelFactors factors(node.post.affine, folded, outputs);
  const auto& w = blobs[0].data();
  const int64_t row = w.size() / outputs;
  std::vector<float> largest;
  for (int64_t k = 0; k < outputs; ++k) {
    float most = 0;
    for (int64_t i = k * row; i < (k + 1) * row; ++i) most = std::max(most, std::abs(w[int(i)]));
    largest.push_back(float(most * std::abs(factors.scale[size_t(k)])));
  }
  return largest;
}

std::map<std::string, caffe::QuantizationParameter> Calibration::scales(const RangeRule& rule) const {
  std::map<std::string, caffe::QuantizationParameter> all;
  for (const Watched& watched : layers_) {
    const ValueRange &x = ranges_.at(watched.x), &y = ranges_.at(watched.y);
    const bool x_signed = !watched.layer.x_is_unsigned && x.has_negative();
    const float of_x = x_signed ? kLargestSigned : kLargestUnsigned;
    const float of_y = watched.layer.y_is_unsigned ? kLargestUnsigned : kLargestSigned;
    const float x_bound = x.bound(rule, int(of_x)), y_bound = y.bound(rule, int(of_y));
    const float w_bound = *std::ranges::max_element(watched.largest_weights);
    if (!(x_bound > 0) || !(y_bound > 0) || !(w_bound > 0)) continue;
    caffe::QuantizationParameter& param = all[watched.layer.name];
    param.set_bw_layer_in(8), param.set_bw_layer_out(8), param.set_bw_params(8);
    param.add_scale_in(scale_for(x_bound, of_x));
    param.add_scale_out(scale_for(y_bound, of_y));
    for (const float largest : watched.largest_weights)  // any scale fits an output whose weights are all 0
      param.add_scale_params(scale_for(std::max(largest, w_bound * 1e-6f), kLargestSigned));
    if (x_signed) param.set_is_negative_input(true);
  }
  return all;
}

}  // namespace cortado
