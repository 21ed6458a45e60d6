#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/shape.h"
#include "onnx/schema.h"

namespace cortado::exporting {

struct Attribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>> value;
};
using Attributes = std::vector<Attribute>;

/// What a node is made from, but for its name.
struct Operation {
  std::string op;
  std::vector<std::string> inputs;  ///< "" stands for one that is left out
  Attributes attributes = {};
};

/// Puts an ONNX graph together and keeps its names apart: those of values and those of nodes, each used once.
class GraphWriter {
 public:
  explicit GraphWriter(onnx::GraphProto& graph) : graph_(graph) {}

  /// A name for a value: `wanted`, or where it is taken something like it.
  std::string value_name(const std::string& wanted) { return unused(values_, wanted); }
  void add_node(const std::string& wanted, const Operation& operation, const std::vector<std::string>& outputs);

  /// An initialiser; its name, which may differ from `wanted`.
  std::string floats(const std::string& wanted, const Shape& shape, std::span<const float> values);
  /// One whose name value_name() gave.
  void named_floats(const std::string& name, const Shape& shape, std::span<const float> values);
  std::string integers(const std::string& wanted, const Shape& shape, std::span<const int64_t> values);

  onnx::GraphProto& graph() { return graph_; }

 private:
  static std::string unused(std::set<std::string>& names, const std::string& wanted);

  onnx::GraphProto& graph_;
  std::set<std::string> values_, nodes_;
};

}  // namespace cortado::exporting
