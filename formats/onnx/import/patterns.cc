#include "onnx/import/patterns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "onnx/graph_index.h"

namespace cortado::importing {

namespace {

using Node = onnx::NodeProto;

class GeluFinder {
 public:
  GeluFinder(onnx::GraphProto& graph, const ModelFile& file) : graph_(graph), file_(file), index_(graph) {}

  void run() {
    for (Node& node : *graph_.mutable_node())
      if (node.op_type() == "Erf" && node.input_size() == 1) merge(node);
  }

 private:
  /// The value of a constant with one element, or NaN.
  double number(const std::string& name) const {
    const onnx::TensorProto* tensor = index_.tensor(name);
    if (const Node* node = index_.maker(name); node && node->op_type() == "Constant" && node->attribute_size() == 1)
      tensor = &node->attribute(0).t();
    if (!tensor || tensor->data_location() == onnx::TensorProto::EXTERNAL || tensor->raw_data().size() > 8)
      return std::nan("");
    const Constant value = file_.read(*tensor);
    return value.count() == 1 ? value.at(0) : std::nan("");
  }
  bool is(const std::string& name, double wanted) const { return std::abs(number(name) - wanted) < 1e-4; }

  /// The operand of `node` whose other operand is this constant; "" if neither is.
  std::string other(const Node* node, const std::string& op, double constant) const {
    if (!node || node->op_type() != op || node->input_size() != 2) return "";
    if (is(node->input(1), constant)) return node->input(0);
    return op != "Div" && is(node->input(0), constant) ? node->input(1) : "";
  }

  void merge(const Node& erf) {
    const Node* scaled = index_.maker(erf.input(0));
    std::string x = other(scaled, "Div", M_SQRT2);
    if (x.empty()) x = other(scaled, "Mul", M_SQRT1_2);
    Node* sum = index_.only_reader(erf.output(0));
    if (x.empty() || other(sum, "Add", 1) != erf.output(0)) return;
    if (Node* product = product_with(*sum, x)) replace(*product, x);
  }

  /// The operand that the node halves; "" if it does something else.
  std::string halved(const Node* node) const {
    const std::string operand = other(node, "Mul", 0.5);
    return operand.empty() ? other(node, "Div", 2) : operand;
  }

  /// The node that makes the product of `sum`, x and 1/2, whatever the order of the factors. Null: none.
  Node* product_with(Node& sum, const std::string& x) {
    Node* at = &sum;
    bool has_x = false, has_half = false;
    while (!has_x || !has_half) {
      const std::string so_far = at->output(0);
      at = index_.only_reader(so_far);
      if (!has_half && halved(at) == so_far) {
        has_half = true;
        continue;
      }
      if (has_x || !at || at->op_type() != "Mul" || at->input_size() != 2) return nullptr;
      const std::string factor = at->input(at->input(0) == so_far ? 1 : 0);
      const bool with_half = !has_half && halved(index_.maker(factor)) == x;
      if (factor != x && !with_half) return nullptr;
      has_x = true;
      has_half = has_half || with_half;
    }
    return at;
  }

  static void replace(Node& node, const std::string& x) {
    node.set_op_type("Gelu");
    node.clear_input();
    node.add_input(x);
  }

  onnx::GraphProto& graph_;
  const ModelFile& file_;
  GraphIndex index_;
};

}  // namespace

void merge_gelu(onnx::GraphProto& graph, const ModelFile& file) { GeluFinder(graph, file).run(); }

void remove_dead_nodes(onnx::GraphProto& graph) {
  std::set<std::string> wanted;
  for (const onnx::ValueInfoProto& output : graph.output()) wanted.insert(output.name());
  onnx::GraphProto kept;
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    Node& node = *graph.mutable_node(i);
    bool needed = false;
    for (const std::string& output : node.output()) needed = needed || wanted.contains(output);
    if (!needed) continue;
    for (const std::string& input : node.input()) wanted.insert(input);
    kept.add_node()->Swap(&node);
  }
  graph.clear_node();
  for (int i = kept.node_size() - 1; i >= 0; --i) graph.add_node()->Swap(kept.mutable_node(i));
}

namespace {

using caffe::LayerParameter;

class Merger {
 public:
  explicit Merger(NetBuilder& net) : net_(net) {
    for (LayerParameter& layer : *net_.net.net.mutable_layer()) {
      for (const std::string& top : layer.top()) makers_[top] = &layer;
      for (const std::string& bottom : layer.bottom()) ++readers_[bottom];
    }
    for (LayerWeights& weights : net_.net.weights) weights_[weights.name] = &weights;
  }

  void run() {
    for (LayerParameter& layer : *net_.net.net.mutable_layer()) {
      if (layer.type() == "Bias") merge_bias(layer);
      if (layer.type() == "Eltwise") merge_swish(layer);
      if (layer.type() == "Reshape") merge_shuffle(layer);
    }
    sweep();
  }

 private:
  /// The layer of this type that produces a blob, if the blob has one reader and is not an output. Otherwise null.
  LayerParameter* maker(const std::string& blob, const std::string& type) {
    const auto found = makers_.find(blob);
    if (found == makers_.end() || found->second->type() != type || readers_[blob] != 1) return nullptr;
    return net_.is_output(blob) ? nullptr : found->second;
  }

  /// Changes `layer` to one of `type` that reads `bottom`; removes `gone`.
  void replace(LayerParameter& layer, const std::string& type, const std::string& bottom,
               const std::vector<LayerParameter*>& gone) {
    LayerParameter made;
    made.set_name(layer.name());
    made.set_type(type);
    made.add_bottom(bottom);
    *made.mutable_top() = layer.top();
    layer.Swap(&made);
    for (LayerParameter* one : gone) one->clear_type();
  }

  void merge_bias(LayerParameter& bias) {
    LayerParameter* product = bias.bottom_size() == 1 ? maker(bias.bottom(0), "InnerProduct") : nullptr;
    if (!product || product->inner_product_param().bias_term()) return;
    const int last = net_.shape_of(bias.bottom(0)).axes() - 1;
    LayerWeights *matrix = weights_.at(product->name()), *terms = weights_.at(bias.name());
    const bool fits = bias.bias_param().axis() == last && bias.bias_param().num_axes() == 1;
    if (!fits || product->inner_product_param().axis() != last) return;
    caffe::InnerProductParameter param = product->inner_product_param();
    param.clear_bias_term();
    terms->type = "InnerProduct";
    terms->blobs.insert(terms->blobs.begin(), std::move(matrix->blobs[0]));
    matrix->blobs.clear();
    replace(bias, "InnerProduct", std::string(product->bottom(0)), {product});
    *bias.mutable_inner_product_param() = param;
    makers_[bias.top(0)] = &bias;
  }

  /// Matches a product of x and the Sigmoid of x.
  void merge_swish(LayerParameter& product) {
    if (product.bottom_size() != 2 || product.eltwise_param().operation() != caffe::EltwiseParameter::PROD) return;
    for (const int i : {0, 1}) {
      LayerParameter* sigmoid = maker(product.bottom(i), "Sigmoid");
      if (!sigmoid || sigmoid->bottom(0) != product.bottom(1 - i)) continue;
      return replace(product, "Swish", std::string(product.bottom(1 - i)), {sigmoid});
    }
  }

  /// Matches a Reshape of N x C x ... to N x groups x C / groups x ..., a Permute of these two axes, and a Reshape
  /// back.
  void merge_shuffle(LayerParameter& last) {
    LayerParameter* permute = maker(last.bottom(0), "Permute");
    LayerParameter* first = permute ? maker(permute->bottom(0), "Reshape") : nullptr;
    if (!first) return;
    const Shape &x = net_.shape_of(first->bottom(0)), &parts = net_.shape_of(permute->bottom(0));
    const auto& order = permute->permute_param().order();
    const bool exchanged = order.size() > 2 && order[0] == 0 && order[1] == 2 && order[2] == 1 &&
                           std::is_sorted(order.begin() + 3, order.end());
    const bool fits = exchanged && x.axes() >= 2 && parts.axes() >= 3 && net_.shape_of(last.top(0)) == x &&
                      parts[0] == x[0] && parts[1] * parts[2] == x[1];
    if (!fits) return;
    const uint32_t groups = uint32_t(parts[1]);
    replace(last, "ShuffleChannel", std::string(first->bottom(0)), {permute, first});
    last.mutable_shuffle_channel_param()->set_group(groups);
  }

  /// Deletes removed layers (without a type) and removed weights (without blobs).
  void sweep() {
    auto& layers = *net_.net.net.mutable_layer();
    layers.erase(std::remove_if(layers.begin(), layers.end(), [](const auto& layer) { return !layer.has_type(); }),
                 layers.end());
    std::erase_if(net_.net.weights, [](const LayerWeights& weights) { return weights.blobs.empty(); });
  }

  NetBuilder& net_;
  std::map<std::string, LayerParameter*> makers_;
  std::map<std::string, int> readers_;
  std::map<std::string, LayerWeights*> weights_;
};

}  // namespace

void merge_layers(NetBuilder& net) { Merger(net).run(); }

void keep_outputs(NetBuilder& net) {
  auto& layers = *net.net.net.mutable_layer();
  std::set<std::string> read, inputs;
  for (const LayerParameter& layer : layers) {
    read.insert(layer.bottom().begin(), layer.bottom().end());
    if (layer.type() == "Input") inputs.insert(layer.top().begin(), layer.top().end());
  }
  std::map<std::string, std::string> inner;  // new names of the outputs that layers read
  for (const std::string& output : net.outputs)
    if (read.contains(output)) inner[output] = inputs.contains(output) ? output : net.blob_name(output + "/inner");
  const auto rename = [&](std::string& blob) {
    if (const auto found = inner.find(blob); found != inner.end()) blob = found->second;
  };
  google::protobuf::RepeatedPtrField<LayerParameter> all;
  for (LayerParameter& layer : layers) {
    const std::vector<std::string> tops(layer.top().begin(), layer.top().end());
    for (std::string& blob : *layer.mutable_bottom()) rename(blob);
    for (std::string& blob : *layer.mutable_top()) rename(blob);
    all.Add()->Swap(&layer);
    for (const std::string& top : tops) {
      const auto found = inner.find(top);
      const bool unread = !read.contains(top) && !net.is_output(top);
      if (found == inner.end() && !unread) continue;
      LayerParameter& more = *all.Add();
      more.set_name(net.layer_name(top + (unread ? "/unread" : "/output")));
      more.set_type(unread ? "Silence" : "Split");
      more.add_bottom(unread ? top : found->second);
      if (!unread) more.add_top(found->second == top ? net.blob_name(top) : top);
    }
  }
  layers.Swap(&all);
}

}  // namespace cortado::importing
