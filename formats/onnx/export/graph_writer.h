#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
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

/// A node without its name.
struct Operation {
  std::string op;
  std::vector<std::string> inputs;  ///< "" is an omitted optional input
  Attributes attributes = {};
};

/// Builds an ONNX graph with unique names of values and of nodes.
class GraphWriter {
 public:
  /// With `digests`, initializers hold checksums of their values, which suffice to compare graphs.
  explicit GraphWriter(onnx::GraphProto& graph, bool digests = false) : graph_(graph), digests_(digests) {}

  /// A unique name for a value: `base`, or with a suffix if that is taken.
  std::string value_name(const std::string& base) { return unused(values_, base); }
  void add_node(const std::string& base, const Operation& operation, const std::vector<std::string>& outputs);

  /// Adds an initializer; returns its name, which may differ from `base`.
  std::string floats(const std::string& base, const Shape& shape, std::span<const float> values);
  /// Adds an initializer with a name from value_name().
  void named_floats(const std::string& name, const Shape& shape, std::span<const float> values);
  std::string integers(const std::string& base, const Shape& shape, std::span<const int64_t> values);

  onnx::GraphProto& graph() { return graph_; }

 private:
  static std::string unused(std::set<std::string>& names, const std::string& base);

  void add_tensor(const std::string& name, onnx::TensorProto::DataType type, const Shape& shape,
                  std::string_view bytes);

  onnx::GraphProto& graph_;
  bool digests_;
  std::set<std::string> values_, nodes_;
};

}  // namespace cortado::exporting
