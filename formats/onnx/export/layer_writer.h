#pragma once

// A layer as the function of its type sees it: its options, its operands and its weights, and a pen for the nodes that
// stand for it.

#include <functional>
#include <string>
#include <vector>

#include "onnx/export/graph_writer.h"
#include "proto/cortado.pb.h"

namespace cortado::exporting {

/// A value of the net, by its name in ONNX.
struct Operand {
  std::string name;
  Shape shape;
  std::vector<bool> dynamic;  ///< per axis: its extent grows with the batch
  std::string maker;          ///< the type of the layer that it comes from

  bool axis_is_dynamic(int axis) const { return size_t(axis) < dynamic.size() && dynamic[size_t(axis)]; }
};

/// Why a layer cannot be written: about a field of its message, or "".
struct Refusal {
  std::string field, message, hint;
};

class LayerWriter {
 public:
  /// Gives the values that a top had in a forward pass of the net, for layers that have no operator but do
  /// not depend on the values of the input.
  using ReadTop = std::function<std::vector<float>(size_t top)>;

  LayerWriter(const caffe::LayerParameter& config, std::vector<Operand> x, std::vector<Operand> y, GraphWriter& graph,
              ReadTop read_top, bool for_opencv)
      : config(config),
        x(std::move(x)),
        y(std::move(y)),
        for_opencv(for_opencv),
        graph_(graph),
        read_top_(std::move(read_top)) {}

  const caffe::LayerParameter& config;  ///< with the weights as its blobs
  const std::vector<Operand> x, y;
  const bool for_opencv;  ///< other operators where OpenCV's dnn does not know the usual ones

  /// A node of the layer whose result is not a top; the name of the result.
  std::string add(const Operation& operation);
  /// The node that makes y[top], or all tops; it has the layer's name where it is the only one.
  void finish(const Operation& operation, size_t top = 0);
  /// y[0] is these values, whatever comes in.
  void finish_constant(std::span<const float> values);
  void finish_all(const Operation& operation);

  /// The weight `i` as an initialiser, in its own shape or another.
  std::string weight(int i);
  std::string weight(int i, const Shape& shape);
  std::span<const float> values(int i) const;
  Shape weight_shape(int i) const;

  std::string number(float value);  ///< a constant without axes
  std::string floats(const std::string& name, const Shape& shape, std::span<const float> values);
  std::string integers(const std::string& name, const std::vector<int64_t>& values);

  /// The target of a Reshape from x to the shape of y: extents that the batch moves are kept (0) or worked out (-1).
  std::vector<int64_t> reshape_target(const Operand& from, const Operand& to) const;
  /// `from` in the shape of `to`, as add() has it.
  std::string reshaped(const Operand& from, const Operand& to);
  /// An operand of this shape whose axes are dynamic where those of `like` are that it was made of: axis i of the
  /// result is axis axes[i] of `like`, or a new one (-1).
  static Operand shaped(const Operand& like, const Shape& shape, const std::vector<int>& axes);

  /// The values of a top, from a forward pass.
  std::vector<float> read_top(size_t top) const { return read_top_(top); }

  /// Throws Refusal.
  [[noreturn]] void refuse(const std::string& message, const std::string& hint = {},
                           const std::string& field = {}) const;

 private:
  std::string node_name(const std::string& op);

  GraphWriter& graph_;
  ReadTop read_top_;
  int nodes_ = 0;
};

}  // namespace cortado::exporting
