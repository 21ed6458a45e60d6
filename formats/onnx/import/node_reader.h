#pragma once

// The view of a node that import functions get: attributes and operands, and functions that add layers.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onnx/import/constant.h"
#include "onnx/import/model_file.h"
#include "onnx/import/net_builder.h"
#include "onnx/schema.h"

namespace cortado::importing {

/// Zero padding of a blob, by spatial axis. A layer that reads the blob may do the padding itself.
struct Padding {
  std::vector<int64_t> before, behind;
};

/// A value of the graph: a constant, or a blob with optional padding.
struct Value {
  ConstantPtr constant = nullptr;             ///< folded
  const onnx::TensorProto* tensor = nullptr;  ///< or a constant of the model
  Blob blob = {};
  std::optional<Padding> padding = {};
  bool is_truncated = false;  ///< a blob cast to integers: only a table of rows can read it

  bool is_constant() const { return constant || tensor; }
};

/// A layer before it is added.
struct Step {
  caffe::LayerParameter layer;
  std::vector<Blob> bottoms = {};
  std::vector<BlobFile> weights = {};
};

using Values = std::map<std::string, Value>;

class NodeReader {
 public:
  NodeReader(const onnx::NodeProto& node, const ModelFile& file, NetBuilder& net, Values& values)
      : node_(node), file_(file), net_(net), values_(values) {}

  const std::string& op() const { return node_.op_type(); }
  std::string name() const;  ///< the node's name, or its result's if it has none
  int64_t opset() const { return file_.opset(); }
  const Batch& batch() const { return net_.batch; }
  const std::optional<NetBuilder::Sample>& sample() const { return net_.sample; }

  // Attributes; `absent` is the default.
  bool has(const std::string& name) const { return attribute(name) != nullptr; }
  int64_t integer(const std::string& name, int64_t absent) const;
  float real(const std::string& name, float absent) const;
  std::string text(const std::string& name, const std::string& absent) const;
  std::vector<int64_t> integers(const std::string& name, std::vector<int64_t> absent = {}) const;
  std::vector<std::string> texts(const std::string& name) const;  ///< empty if missing
  ConstantPtr tensor(const std::string& name) const;              ///< null if missing

  // Operands.
  size_t inputs() const { return size_t(node_.input_size()); }
  bool has_input(size_t i) const { return i < inputs() && !node_.input(int(i)).empty(); }
  bool is_constant(size_t i) const { return has_input(i) && value(i).is_constant(); }
  /// The constant input `i`. Throws Error if it is not constant; `what` ("the filters") is used in the message.
  ConstantPtr constant(size_t i, const std::string& what) const;
  /// The input as a blob: a constant becomes a Parameter layer, padding a Padding layer.
  Blob x(size_t i);
  /// The same, but the caller handles the padding.
  Blob x(size_t i, std::optional<Padding>& padding);
  /// The same for indices, which Cortado's layers truncate to integers.
  Blob indices(size_t i);
  /// x(i); if it is a constant with the model's own batch size along `axis`, it is repeated for any batch.
  Blob x_with_batch(size_t i, int axis);
  const Value& value(size_t i) const;
  /// A list that is an attribute in older opsets and an input in newer ones; nothing if both are missing.
  std::optional<std::vector<int64_t>> list(const std::string& name, size_t input) const;
  /// A number that is an attribute in older opsets and an input in newer ones.
  std::optional<float> bound(const std::string& name, size_t input) const;

  // Results.
  size_t outputs() const { return size_t(node_.output_size()); }
  bool has_output(size_t i) const { return i < outputs() && !node_.output(int(i)).empty(); }
  /// A layer of this type, for the caller to fill in. An unnamed layer gets the node's name, with the type appended if
  /// taken.
  static caffe::LayerParameter layer(const std::string& type);
  /// Adds a layer whose top is not an output of the node; returns the top.
  Blob add(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights = {});
  /// The same for a layer with several tops.
  std::vector<Blob> add_many(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, size_t tops,
                             std::vector<BlobFile> weights = {});
  /// A Parameter layer with these values.
  Blob parameter(const Shape& shape, std::vector<float> values);
  Blob add(Step step) { return add(std::move(step.layer), step.bottoms, std::move(step.weights)); }
  void finish(Step step) { finish(std::move(step.layer), step.bottoms, std::move(step.weights)); }
  /// Adds the last layer, whose tops are the node's first outputs.
  void finish(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights = {});
  /// Makes output `i` an existing value.
  void set(size_t i, Value value);
  void set(size_t i, Blob blob) { set(i, Value{.constant = nullptr, .tensor = nullptr, .blob = std::move(blob)}); }
  void set(size_t i, Constant constant);

  /// Reshapes the blob; `target` may have 0 and -1, as in Reshape. Use finish_reshaped() if the result is the node's
  /// output.
  Blob reshaped(const Blob& x, const std::vector<int64_t>& target);
  void finish_reshaped(const Blob& x, const std::vector<int64_t>& target);
  Blob permuted(const Blob& x, const std::vector<int64_t>& order);
  void finish_permuted(const Blob& x, const std::vector<int64_t>& order);
  /// Indices [from, to) of x along `axis`. Throws Error if that slices the batch.
  Blob sliced(const Blob& x, int axis, int64_t from, int64_t to);
  Blob padded(const Blob& x, const Padding& padding);

  /// Converts an axis of the node to a non-negative index. Throws Error if it is out of range.
  int axis_of(const Shape& x, int64_t axis) const;

  /// Throws Error(kNet) about this node.
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;

 private:
  const onnx::AttributeProto* attribute(const std::string& name) const;
  /// A blob with this sample, of extent 1 along `axis`, once for each of the batch.
  Blob repeated(const Constant& sample, int axis);
  /// The same for a constant input that was expanded to the batch; nothing if it was not, or its samples differ.
  std::optional<Blob> repeated_constant(size_t i);

  const onnx::NodeProto& node_;
  const ModelFile& file_;
  NetBuilder& net_;
  Values& values_;
};

/// "node 'conv1' (Conv)", for messages.
std::string describe(const onnx::NodeProto& node);

/// Makes a weight of this shape.
BlobFile weight_of(const Shape& shape, std::vector<float> values);

}  // namespace cortado::importing
