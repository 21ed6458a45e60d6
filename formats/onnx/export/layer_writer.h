#pragma once

// The view of a layer that export functions get: options, operands and weights, and functions that add nodes.

#include <functional>
#include <string>
#include <vector>

#include "onnx/export/graph_writer.h"
#include "onnx/export/readers.h"
#include "proto/cortado.pb.h"

namespace cortado::exporting {

/// A value of the net, by its name in ONNX.
struct Operand {
  std::string name;
  Shape shape;
  std::vector<bool> dynamic;  ///< per axis: whether its extent grows with the batch

  bool axis_is_dynamic(int axis) const { return size_t(axis) < dynamic.size() && dynamic[size_t(axis)]; }
};

/// Why a layer cannot be exported. `field` is a field of its message, or "".
struct Refusal {
  std::string field, message, hint;
};

class LayerWriter {
 public:
  /// The values of constants, which do not depend on the inputs' values, from a forward pass of the net.
  struct Constants {
    std::function<std::vector<float>(size_t top)> top;
    std::function<std::vector<float>(size_t bottom)> bottom;  ///< empty if it is not a constant
  };

  LayerWriter(const caffe::LayerParameter& config, std::vector<Operand> x, std::vector<Operand> y, GraphWriter& graph,
              Constants constants, const Reader& reader)
      : config(config),
        x(std::move(x)),
        y(std::move(y)),
        reader(reader),
        constants(std::move(constants)),
        graph_(graph) {}

  const caffe::LayerParameter& config;  ///< with the weights as its blobs
  const std::vector<Operand> x, y;
  const Reader& reader;  ///< some operators are replaced by others for it
  const Constants constants;

  /// Adds a node whose result is not a top; returns the name of the result.
  std::string add(const Operation& operation);
  /// The same for a node with several results.
  std::vector<std::string> add(const Operation& operation, size_t results);
  /// The same for a node whose results have names: of tops, or from new_name().
  void add_named(const Operation& operation, const std::vector<std::string>& results);
  std::string new_name(const std::string& base);
  /// Adds the node that produces y[top] (or all tops). The only node of a layer gets the layer's name.
  void finish(const Operation& operation, size_t top = 0);
  /// Makes y[0] a constant.
  void finish_constant(std::span<const float> values);
  void finish_all(const Operation& operation);

  /// Adds weight `i` as an initializer, in its own shape or another.
  std::string weight(int i);
  std::string weight(int i, const Shape& shape);
  std::span<const float> values(int i) const;
  Shape weight_shape(int i) const;

  std::string number(float value);  ///< a constant without axes
  std::string integer(int64_t value);
  std::string floats(const std::string& name, const Shape& shape, std::span<const float> values);
  std::string integers(const std::string& name, const std::vector<int64_t>& values);

  /// The target of a Reshape: extents that grow with the batch are copied (0) or inferred (-1).
  std::vector<int64_t> reshape_target(const Operand& from, const Operand& to) const;
  /// Adds a Reshape of `from` to the shape of `to`; returns the name of the result.
  std::string reshaped(const Operand& from, const Operand& to);
  /// An operand of this shape. Axis i is dynamic if axis axes[i] of `like` is; -1 is a new, fixed axis.
  static Operand shaped(const Operand& like, const Shape& shape, const std::vector<int>& axes);

  /// Throws Refusal.
  [[noreturn]] void refuse(const std::string& message, const std::string& hint = {},
                           const std::string& field = {}) const;

 private:
  std::string node_name(const std::string& op);

  GraphWriter& graph_;
};

}  // namespace cortado::exporting
