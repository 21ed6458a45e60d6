#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "onnx/schema.h"

namespace cortado {

/// Who makes and who reads each value of a graph that is being changed: nodes are taken out, but stay where they are
/// until sweep().
class GraphIndex {
 public:
  explicit GraphIndex(onnx::GraphProto& graph);

  /// The node that makes a value, or null.
  onnx::NodeProto* maker(const std::string& value) const;
  /// The node that alone reads it, or null where none, several or the graph's user do.
  onnx::NodeProto* only_reader(const std::string& value) const;
  /// An initialiser that one node reads once, or null.
  onnx::TensorProto* own_tensor(const std::string& name) const;
  const onnx::TensorProto* tensor(const std::string& name) const;

  /// A further initialiser of floats, whose values are yet to be set.
  onnx::TensorProto& add_tensor(const std::string& wanted, const std::vector<int64_t>& dims);

  /// Takes `node` out: its only result is now what `before` makes in place of its own.
  void absorb(onnx::NodeProto& before, onnx::NodeProto& node);
  /// `node` reads, in place of what `before` makes, what that one reads; `before` goes where nobody else wants it.
  void bypass(onnx::NodeProto& node, onnx::NodeProto& before);
  /// Removes what was taken out, and initialisers that nobody reads.
  void sweep();

 private:
  void index();

  onnx::GraphProto& graph_;
  std::map<std::string, onnx::NodeProto*> makers_;
  std::map<std::string, std::vector<onnx::NodeProto*>> readers_;
  std::map<std::string, onnx::TensorProto*> tensors_;
  std::set<std::string> outputs_;
  std::set<const onnx::NodeProto*> gone_;
};

}  // namespace cortado
