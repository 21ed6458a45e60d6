#pragma once

// A node of the model as the function of its operator sees it: attributes, operands, and the layers that it becomes.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "onnx/import/constant.h"
#include "onnx/import/model_file.h"
#include "onnx/import/net_builder.h"
#include "onnx/schema.h"

namespace cortado::importing {

/// Zeros around a blob, by spatial axis, which the layer that reads it may add itself.
struct Padding {
  std::vector<int64_t> before, behind;
};

/// What a name of the graph stands for: values that are known, or a blob, perhaps with zeros around it.
struct Value {
  ConstantPtr constant = nullptr;             ///< worked out
  const onnx::TensorProto* tensor = nullptr;  ///< or held by the model
  Blob blob = {};
  std::optional<Padding> padding = {};

  bool is_constant() const { return constant || tensor; }
};

using Values = std::map<std::string, Value>;

class NodeReader {
 public:
  NodeReader(const onnx::NodeProto& node, const ModelFile& file, NetBuilder& net, Values& values)
      : node_(node), file_(file), net_(net), values_(values) {}

  const std::string& op() const { return node_.op_type(); }
  std::string name() const;  ///< the node's, or its result's where it has none
  int64_t opset() const { return file_.opset(); }
  const Batch& batch() const { return net_.batch; }

  // Attributes; `absent` where there is none.
  bool has(const std::string& name) const { return attribute(name) != nullptr; }
  int64_t integer(const std::string& name, int64_t absent) const;
  float real(const std::string& name, float absent) const;
  std::string text(const std::string& name, const std::string& absent) const;
  std::vector<int64_t> integers(const std::string& name, std::vector<int64_t> absent = {}) const;
  ConstantPtr tensor(const std::string& name) const;  ///< null where there is none

  // Operands.
  size_t inputs() const { return size_t(node_.input_size()); }
  bool has_input(size_t i) const { return i < inputs() && !node_.input(int(i)).empty(); }
  bool is_constant(size_t i) const { return has_input(i) && value(i).is_constant(); }
  /// Throws Error where input `i` is not known before the net runs; `what` ("the filters") is for the message.
  ConstantPtr constant(size_t i, const std::string& what) const;
  /// The input as a blob of its own: a constant becomes a Parameter layer, zeros around it a Padding.
  Blob x(size_t i);
  /// The same, but zeros around it are left to the caller.
  Blob x(size_t i, std::optional<Padding>& padding);
  const Value& value(size_t i) const;
  /// A list that was an attribute in older opsets and is an input since; nothing where it is neither.
  std::optional<std::vector<int64_t>> list(const std::string& name, size_t input) const;
  /// A number that was an attribute and is an input since.
  std::optional<float> bound(const std::string& name, size_t input) const;

  // Results.
  size_t outputs() const { return size_t(node_.output_size()); }
  bool has_output(size_t i) const { return i < outputs() && !node_.output(int(i)).empty(); }
  /// A layer of this type to be filled in. Without a name it gets the node's, or with its type behind it.
  static caffe::LayerParameter layer(const std::string& type);
  /// A layer whose top is not an output of the node; that top.
  Blob add(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights = {});
  /// The same of a layer with so many tops.
  std::vector<Blob> add_many(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, size_t tops);
  /// The last layer: its tops are the node's first outputs.
  void finish(caffe::LayerParameter layer, const std::vector<Blob>& bottoms, std::vector<BlobFile> weights = {});
  /// Output `i` is what is there already.
  void set(size_t i, Value value);
  void set(size_t i, Blob blob) { set(i, Value{.constant = nullptr, .tensor = nullptr, .blob = std::move(blob)}); }
  void set(size_t i, Constant constant);

  /// The blob in another shape; `target` may have 0 and -1, as Reshape has them. Where it is to be the node's result,
  /// finish_reshaped().
  Blob reshaped(const Blob& x, const std::vector<int64_t>& target);
  void finish_reshaped(const Blob& x, const std::vector<int64_t>& target);
  Blob permuted(const Blob& x, const std::vector<int64_t>& order);
  void finish_permuted(const Blob& x, const std::vector<int64_t>& order);
  /// Places [from, to) of x along `axis`. Throws Error where they are a part of the batch.
  Blob sliced(const Blob& x, int axis, int64_t from, int64_t to);
  Blob padded(const Blob& x, const Padding& padding);

  /// An axis as the node says it, from the front. Throws Error where x has none such.
  int axis_of(const Shape& x, int64_t axis) const;

  /// Throws Error(kNet) about this node.
  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const;

 private:
  const onnx::AttributeProto* attribute(const std::string& name) const;

  const onnx::NodeProto& node_;
  const ModelFile& file_;
  NetBuilder& net_;
  Values& values_;
};

/// "node 'conv1' (Conv)", for messages.
std::string describe(const onnx::NodeProto& node);

/// A weight of this shape.
BlobFile weight_of(const Shape& shape, std::vector<float> values);

}  // namespace cortado::importing
