// Merges y[c] = factor[c] x[c] + term[c] into the node before it:
//   BatchNormalization   scale factor, B factor + term
//   filters              filters of channel c times factor[c], bias factor + term
#include <cmath>
#include <optional>

#include "onnx/export/simplify.h"
#include "onnx/export/tensors.h"
#include "onnx/graph_index.h"

namespace cortado::exporting {

namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

void set_values(onnx::TensorProto& tensor, const Floats& values) {
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
}

/// A factor and a term for each channel, or one for all.
struct ChannelMap {
  Doubles factor, term;
  double a(size_t c) const { return factor.size() == 1 ? factor[0] : factor[c]; }
  double b(size_t c) const { return term.size() == 1 ? term[0] : term[c]; }
};

class Merger {
 public:
  Merger(onnx::GraphProto& graph, const std::map<std::string, Shape>& shapes, bool fold)
      : graph_(graph), index_(graph), shapes_(shapes), fold_(fold) {}

  void run() {
    for (onnx::NodeProto& node : *graph_.mutable_node()) {
      const auto shape = node.output_size() > 0 ? shapes_.find(node.output(0)) : shapes_.end();
      while (shape != shapes_.end() && absorbs_follower(node, shape->second)) {
      }
    }
    index_.sweep();
  }

 private:
  /// Merges the only reader of `node` into it, if possible. `y` is the shape of the node's result.
  bool absorbs_follower(onnx::NodeProto& node, const Shape& y) {
    const bool norm = node.op_type() == "BatchNormalization";
    const bool filters = node.op_type() == "Conv" || node.op_type() == "ConvTranspose" || node.op_type() == "Gemm";
    if (!norm && !(fold_ && filters)) return false;
    onnx::NodeProto* follower = index_.only_reader(node.output(0));
    if (!follower || follower->input(0) != node.output(0)) return false;
    const std::optional<ChannelMap> map = map_of(*follower, y);
    if (!map || !(norm ? change_norm(node, *map) : change_filters(node, *map))) return false;
    index_.absorb(node, *follower);
    return true;
  }

  /// The node as a ChannelMap, or nothing if it is not one.
  std::optional<ChannelMap> map_of(const onnx::NodeProto& node, const Shape& x) const {
    if (node.op_type() == "BatchNormalization") return fold_ ? map_of_norm(node) : std::nullopt;
    const bool product = node.op_type() == "Mul";
    if (!product && node.op_type() != "Add") return std::nullopt;
    const onnx::TensorProto* constant = index_.tensor(node.input(1));
    if (!constant || !is_per_channel(*constant, x)) return std::nullopt;
    const Floats values = floats_of(*constant);
    Doubles numbers(values.begin(), values.end());
    return product ? ChannelMap{std::move(numbers), {0}} : ChannelMap{{1}, std::move(numbers)};
  }

  /// Whether it is one number, or C x 1 x ... x 1 for x of N x C x ...
  static bool is_per_channel(const onnx::TensorProto& constant, const Shape& x) {
    if (constant.dims_size() == 0) return true;
    if (constant.dims_size() != x.axes() - 1 || x.axes() < 2 || constant.dims(0) != x[1]) return false;
    for (int i = 1; i < constant.dims_size(); ++i)
      if (constant.dims(i) != 1) return false;
    return true;
  }

  std::optional<ChannelMap> map_of_norm(const onnx::NodeProto& node) const {
    Floats parts[4];
    for (int i = 0; i < 4; ++i) {
      const onnx::TensorProto* tensor = index_.tensor(node.input(i + 1));
      if (!tensor) return std::nullopt;
      parts[i] = floats_of(*tensor);
    }
    ChannelMap map;
    for (size_t c = 0; c < parts[0].size(); ++c) {
      map.factor.push_back(double(parts[0][c]) / std::sqrt(double(parts[3][c]) + double(node.attribute(0).f())));
      map.term.push_back(double(parts[1][c]) - double(parts[2][c]) * map.factor.back());
    }
    return map;
  }

  bool change_norm(onnx::NodeProto& node, const ChannelMap& map) {
    onnx::TensorProto *scale = index_.own_tensor(node.input(1)), *shift = index_.own_tensor(node.input(2));
    if (!scale || !shift) return false;
    Floats factors = floats_of(*scale), terms = floats_of(*shift);
    for (size_t c = 0; c < factors.size(); ++c) {
      factors[c] = float(double(factors[c]) * map.a(c));
      terms[c] = float(double(terms[c]) * map.a(c) + map.b(c));
    }
    set_values(*scale, factors);
    set_values(*shift, terms);
    return true;
  }

  /// Filters are ordered by output; those of a ConvTranspose by input, and within a group by output. Only a transposed
  /// Gemm matrix (outputs x inputs) is changed.
  bool change_filters(onnx::NodeProto& node, const ChannelMap& map) {
    onnx::TensorProto* filters = index_.own_tensor(node.input(1));
    const bool has_bias = node.input_size() > 2;
    onnx::TensorProto* bias = has_bias ? index_.own_tensor(node.input(2)) : nullptr;
    if (!filters || (has_bias && !bias)) return false;
    if (node.op_type() == "Gemm" && integer(node, "transB", 0) == 0) return false;
    const bool transposed = node.op_type() == "ConvTranspose";
    const int64_t groups = integer(node, "group", 1),
                  outputs = transposed ? filters->dims(1) * groups : filters->dims(0);
    Floats values = floats_of(*filters);
    const int64_t rows = transposed ? filters->dims(0) * filters->dims(1) : outputs,
                  width = int64_t(values.size()) / std::max<int64_t>(1, rows);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t in_group = filters->dims(1), group = transposed ? row / in_group / (filters->dims(0) / groups) : 0;
      const size_t c = size_t(transposed ? group * in_group + row % in_group : row);
      for (int64_t i = 0; i < width; ++i)
        values[size_t(row * width + i)] = float(double(values[size_t(row * width + i)]) * map.a(c));
    }
    set_values(*filters, values);
    change_bias(node, bias, outputs, map);
    return true;
  }

  void change_bias(onnx::NodeProto& node, onnx::TensorProto* bias, int64_t outputs, const ChannelMap& map) {
    Floats terms = bias ? floats_of(*bias) : Floats(size_t(outputs), 0);
    for (size_t c = 0; c < terms.size(); ++c) terms[c] = float(double(terms[c]) * map.a(c) + map.b(c));
    if (!bias) {
      bias = &index_.add_tensor(node.name() + "/bias", {outputs});
      node.add_input(bias->name());
    }
    set_values(*bias, terms);
  }

  static int64_t integer(const onnx::NodeProto& node, const std::string& name, int64_t absent) {
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (attribute.name() == name) return attribute.i();
    return absent;
  }

  onnx::GraphProto& graph_;
  GraphIndex index_;
  const std::map<std::string, Shape>& shapes_;
  bool fold_;
};

}  // namespace

void merge_channel_maps(onnx::GraphProto& graph, const std::map<std::string, Shape>& shapes, bool fold) {
  Merger(graph, shapes, fold).run();
}

}  // namespace cortado::exporting
