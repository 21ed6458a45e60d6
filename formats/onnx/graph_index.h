#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "onnx/schema.h"

namespace cortado {

/// Maps each value of a graph to its producer and its readers while the graph is changed. Removed nodes stay in place
/// until sweep().
class GraphIndex {
 public:
  explicit GraphIndex(onnx::GraphProto& graph);

  /// The node that produces a value, or null.
  onnx::NodeProto* maker(const std::string& value) const;
  /// Its only reader; null if no node or several read it, or if it is a graph output.
  onnx::NodeProto* only_reader(const std::string& value) const;
  /// An initializer with exactly one reader, or null.
  onnx::TensorProto* own_tensor(const std::string& name) const;
  const onnx::TensorProto* tensor(const std::string& name) const;

  /// Adds an initializer of floats; the caller sets its values.
  onnx::TensorProto& add_tensor(const std::string& base, const std::vector<int64_t>& dims);

  /// Removes `node`: `before` produces its only result instead.
  void absorb(onnx::NodeProto& before, onnx::NodeProto& node);
  /// Makes `node` read the input of `before` instead of its result; removes `before` if it is unused.
  void bypass(onnx::NodeProto& node, onnx::NodeProto& before);
  /// Deletes removed nodes, nodes without a reader and unused initializers.
  void sweep();

 private:
  void index();
  bool is_read(const onnx::NodeProto& node) const;

  onnx::GraphProto& graph_;
  std::map<std::string, onnx::NodeProto*> makers_;
  std::map<std::string, std::vector<onnx::NodeProto*>> readers_;
  std::map<std::string, onnx::TensorProto*> tensors_;
  std::set<std::string> outputs_;
  std::set<const onnx::NodeProto*> gone_;
};

}  // namespace cortado
