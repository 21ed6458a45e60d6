#include "onnx/export/quantized.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "layers/common/weights/quantization.h"
#include "onnx/export/tensors.h"
#include "onnx/graph_index.h"

namespace cortado::exporting {

namespace {

constexpr float kLargestWeight = 127;

class Quantizer {
 public:
  Quantizer(onnx::GraphProto& graph, const std::vector<EightBitLayer>& layers) : graph_(graph), layers_(layers) {
    for (const onnx::TensorProto& tensor : graph.initializer()) tensors_[tensor.name()] = tensor;
    for (const EightBitLayer& layer : layers)
      if (is_8_bit(layer.y.dtype)) results_[layer.y_name] = layer.y;
  }

  void run() {
    onnx::GraphProto before;
    before.mutable_node()->Swap(graph_.mutable_node());
    for (onnx::NodeProto& node : *before.mutable_node()) {
      for (std::string& input : *node.mutable_input())
        if (rounded_.contains(input)) input = rounded_.at(input);
      if (const EightBitLayer* layer = layer_of(node)) change_product(node, *layer);
      *graph_.add_node() = node;
      for (const std::string& output : node.output())
        if (results_.contains(output)) rounded_[output] = add_rounding(output, results_.at(output));
    }
    GraphIndex(graph_).sweep();
  }

 private:
  /// The layer whose product the node is, or null.
  const EightBitLayer* layer_of(const onnx::NodeProto& node) const {
    const std::string& op = node.op_type();
    if ((op != "Conv" && op != "Gemm" && op != "MatMul") || !tensors_.contains(node.input(1))) return nullptr;
    for (const EightBitLayer& layer : layers_)
      if (node.name() == layer.name || node.name() == layer.name + "/" + op) return &layer;
    return nullptr;
  }

  void change_product(onnx::NodeProto& node, const EightBitLayer& layer) {
    if (!encodings_.contains(node.input(0)) || encodings_.at(node.input(0)) != layer.x)
      node.set_input(0, add_rounding(node.input(0), layer.x));
    const onnx::TensorProto weights = tensors_.at(node.input(1));
    const int axis = outputs_axis(node);
    const std::vector<float> scales = scales_of_weights(layer.scales, weights.dims(axis));
    node.set_input(1, add_weights(weights, axis, scales));
    if (node.input_size() > 2) node.set_input(2, add_bias(tensors_.at(node.input(2)), scales, layer.x.scale));
  }

  static int outputs_axis(const onnx::NodeProto& node) {
    if (node.op_type() == "Conv") return 0;
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (attribute.name() == "transB" && attribute.i() != 0) return 0;
    return 1;
  }

  /// Rounds a value to integers and back; returns the result.
  std::string add_rounding(const std::string& value, const Encoding& encoding) {
    const bool is_unsigned = encoding.dtype == DType::kU8;
    const auto type = is_unsigned ? onnx::TensorProto::UINT8 : onnx::TensorProto::INT8;
    const std::string base = value + "/int8_" + std::to_string(count_++);
    const std::string scale =
        add_tensor(base + "/scale", onnx::TensorProto::FLOAT, {}, std::vector{1 / encoding.scale});
    const std::string zero = add_tensor(base + "/zero", type, {}, std::vector<int8_t>{0});
    append_node(graph_, "QuantizeLinear", {value, scale, zero}, base);
    append_node(graph_, "DequantizeLinear", {base, scale, zero}, base + "/value");
    encodings_[base + "/value"] = encoding;
    return base + "/value";
  }

  std::string add_weights(const onnx::TensorProto& weights, int axis, const std::vector<float>& scales) {
    int64_t inner = 1;
    for (int i = axis + 1; i < weights.dims_size(); ++i) inner *= weights.dims(i);
    const std::vector<float> values = floats_of(weights);
    std::vector<int8_t> integers;
    for (size_t i = 0; i < values.size(); ++i) {
      const float scaled = std::nearbyint(values[i] * scales[i / size_t(inner) % scales.size()]);
      integers.push_back(int8_t(std::clamp(scaled, -kLargestWeight, kLargestWeight)));
    }
    const std::vector<int64_t> dims(weights.dims().begin(), weights.dims().end());
    const std::string name = add_tensor(weights.name() + "/int8", onnx::TensorProto::INT8, dims, integers);
    return add_dequantized(name, onnx::TensorProto::INT8, std::vector<int8_t>(scales.size(), 0), inverse(scales, 1),
                           axis);
  }

  /// As 32-bit integers with the scale of the products; as floats, if one is too large for that.
  std::string add_bias(const onnx::TensorProto& bias, const std::vector<float>& scales, float x_scale) {
    const std::vector<float> values = floats_of(bias);
    std::vector<int32_t> integers;
    for (size_t i = 0; i < values.size(); ++i) {
      const double scaled = std::nearbyint(double(values[i]) * scales[i % scales.size()] * x_scale);
      if (!(std::fabs(scaled) <= double(1 << 30)) || values.size() != scales.size()) return bias.name();
      integers.push_back(int32_t(scaled));
    }
    const std::string name =
        add_tensor(bias.name() + "/int32", onnx::TensorProto::INT32, {int64_t(values.size())}, integers);
    return add_dequantized(name, onnx::TensorProto::INT32, std::vector<int32_t>(scales.size(), 0),
                           inverse(scales, x_scale), 0);
  }

  static std::vector<float> inverse(const std::vector<float>& scales, float factor) {
    std::vector<float> out;
    for (const float scale : scales) out.push_back(1 / (scale * factor));
    return out;
  }

  template <typename T>
  std::string add_dequantized(const std::string& name, onnx::TensorProto::DataType type, const std::vector<T>& zeros,
                              const std::vector<float>& scales, int axis) {
    const std::vector<int64_t> dims = {int64_t(scales.size())};
    const std::string scale = add_tensor(name + "/scale", onnx::TensorProto::FLOAT, dims, scales);
    const std::string zero = add_tensor(name + "/zero", type, dims, zeros);
    append_node(graph_, "DequantizeLinear", {name, scale, zero}, name + "/value", "axis", axis);
    return name + "/value";
  }

  template <typename T>
  std::string add_tensor(const std::string& base, onnx::TensorProto::DataType type, const std::vector<int64_t>& dims,
                         const std::vector<T>& values) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(base);
    tensor.set_data_type(type);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    tensor.set_raw_data(values.data(), values.size() * sizeof(T));
    return base;
  }

  onnx::GraphProto& graph_;
  const std::vector<EightBitLayer>& layers_;
  std::map<std::string, onnx::TensorProto> tensors_;
  std::map<std::string, Encoding> results_, encodings_;  ///< of results of layers; of rounded values
  std::map<std::string, std::string> rounded_;           ///< values and their rounded form
  int count_ = 0;
};

}  // namespace

void quantize(onnx::GraphProto& graph, const std::vector<EightBitLayer>& layers) { Quantizer(graph, layers).run(); }

}  // namespace cortado::exporting
