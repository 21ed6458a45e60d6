#include "onnx/import/element_types.h"

#include <cmath>
#include <set>

#include "core/error.h"

namespace cortado::importing {

namespace {

using onnx::TensorProto;
using Ops = std::set<std::string>;

const Ops kOfBooleans = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor", "Not"},
          kOfPlaces = {"ArgMax", "ArgMin", "Shape", "Size", "NonZero"},
          // They only select values.
    kSelecting = {"Identity", "Cast",    "Reshape",       "Flatten",   "Squeeze",      "Unsqueeze",    "Transpose",
                  "Concat",   "Split",   "Slice",         "Gather",    "Expand",       "Tile",         "Pad",
                  "Where",    "Max",     "Min",           "ReduceMax", "ReduceMin",    "Relu",         "Clip",
                  "MaxPool",  "Dropout", "GlobalMaxPool", "Sign",      "DepthToSpace", "SpaceToDepth", "ArgMax",
                  "ArgMin",   "Shape",   "Size"},
          kAdding = {"Add",    "Sub",       "Mul",        "Sum",      "Neg",
                     "Abs",    "ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare",
                     "MatMul", "Gemm",      "Einsum",     "PRelu"};

const onnx::AttributeProto* attribute_of(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

/// The type of the first result.
int type_of(const onnx::NodeProto& node, const ElementTypes& types) {
  const std::string& op = node.op_type();
  const auto of_input = [&](int i) {
    const auto found = i < node.input_size() ? types.find(node.input(i)) : types.end();
    return found == types.end() ? int(TensorProto::UNDEFINED) : found->second;
  };
  const auto* value = attribute_of(node, "value");
  if (op == "Cast") return attribute_of(node, "to") ? int(attribute_of(node, "to")->i()) : of_input(0);
  if (kOfBooleans.contains(op)) return TensorProto::BOOL;
  if (kOfPlaces.contains(op)) return TensorProto::INT64;
  if (op == "Constant" && !value)
    return attribute_of(node, "value_int") || attribute_of(node, "value_ints") ? TensorProto::INT64
                                                                               : TensorProto::FLOAT;
  if (op == "Constant" || op == "ConstantOfShape") return value ? value->t().data_type() : TensorProto::FLOAT;
  return of_input(op == "Where" ? 1 : op == "OneHot" ? 2 : 0);
}

bool is_unsigned(int type) {
  return type == TensorProto::UINT8 || type == TensorProto::UINT16 || type == TensorProto::UINT32 ||
         type == TensorProto::UINT64;
}

/// Whether sums and products are as wide as a float is exact, at least.
bool is_wide(int type) {
  return type == TensorProto::INT32 || type == TensorProto::INT64 || type == TensorProto::UINT32 ||
         type == TensorProto::UINT64;
}

/// Whether every value of constant input `i` passes the test.
bool all_of(const NodeReader& node, size_t i, bool (*test)(double)) {
  if (!node.is_constant(i)) return false;
  const ConstantPtr known = node.constant(i, "an operand");
  for (size_t k = 0; k < known->count(); ++k)
    if (!test(known->at(k))) return false;
  return true;
}

bool is_whole(double value) { return std::isfinite(value) && value == std::floor(value); }

bool is_exact(const NodeReader& node, int type) {
  const std::string& op = node.op();
  if (kSelecting.contains(op)) return true;
  if (op == "Resize" || op == "Upsample") return node.text("mode", "nearest") == "nearest";
  if (!is_wide(type) || (is_unsigned(type) && (op == "Sub" || op == "Neg"))) return false;  // they wrap
  if (op == "Gemm") return is_whole(double(node.real("alpha", 1))) && is_whole(double(node.real("beta", 1)));
  if (op == "Div") return all_of(node, 1, [](double value) { return std::abs(value) == 1; });
  if (op == "Pow") return all_of(node, 1, [](double value) { return is_whole(value) && value >= 0; });
  return kAdding.contains(op);
}

}  // namespace

bool is_integer_type(int type) {
  return is_unsigned(type) || is_wide(type) || type == TensorProto::INT8 || type == TensorProto::INT16;
}

ElementTypes element_types(const onnx::GraphProto& graph) {
  ElementTypes types;
  for (const onnx::ValueInfoProto& input : graph.input()) types[input.name()] = input.type().tensor_type().elem_type();
  for (const onnx::TensorProto& tensor : graph.initializer()) types[tensor.name()] = tensor.data_type();
  for (const onnx::NodeProto& node : graph.node())
    for (int i = 0; i < node.output_size(); ++i)
      types[node.output(i)] = i > 0 && node.op_type() == "MaxPool"   ? int(TensorProto::INT64)
                              : i > 0 && node.op_type() == "Dropout" ? int(TensorProto::BOOL)
                                                                     : type_of(node, types);
  return types;
}

void refuse_inexact_integers(const NodeReader& node, int type) {
  if (is_integer_type(type) && !is_exact(node, type))
    node.fail("it computes on integers, but layers compute on floats", "cast its operands to floats");
}

}  // namespace cortado::importing
