// Constant folding of arithmetic, which exporters use to compute sizes from shapes.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

/// The shape that both constants are broadcast to. Throws Error also if it is too large.
Shape folded_shape(const NodeReader& node, const Shape& a, const Shape& b) {
  const Shape common = common_shape(node, a, b);
  if (common.count() > kMaxFolded) node.fail("constants of shape " + common.str() + " are too large");
  return common;
}

using OfIntegers = int64_t (*)(int64_t, int64_t);
using OfFloats = double (*)(double, double);

/// Signed arithmetic that wraps on overflow.
int64_t wrapped(uint64_t value) { return int64_t(value); }

struct Operator {
  OfIntegers integers;  ///< null: the floats' result is truncated if the first operand has integers
  OfFloats floats;
  bool compares = false;  ///< the result is boolean
};

int64_t quotient(int64_t a, int64_t b) { return b == 0 || b == -1 ? (b == 0 ? 0 : wrapped(-uint64_t(a))) : a / b; }
int64_t remainder_of(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

const std::map<std::string, Operator>& binary_operators() {
  static const std::map<std::string, Operator> operators = {
      {"Add",
       {[](int64_t a, int64_t b) { return wrapped(uint64_t(a) + uint64_t(b)); },
        [](double a, double b) { return a + b; }}},
      {"Sub",
       {[](int64_t a, int64_t b) { return wrapped(uint64_t(a) - uint64_t(b)); },
        [](double a, double b) { return a - b; }}},
      {"Mul",
       {[](int64_t a, int64_t b) { return wrapped(uint64_t(a) * uint64_t(b)); },
        [](double a, double b) { return a * b; }}},
      {"Div", {quotient, [](double a, double b) { return a / b; }}},
      {"Mod", {remainder_of, [](double a, double b) { return std::fmod(a, b); }}},
      {"Pow", {nullptr, [](double a, double b) { return std::pow(a, b); }}},
      {"Min", {[](int64_t a, int64_t b) { return std::min(a, b); }, [](double a, double b) { return std::min(a, b); }}},
      {"Max", {[](int64_t a, int64_t b) { return std::max(a, b); }, [](double a, double b) { return std::max(a, b); }}},
      {"Equal",
       {[](int64_t a, int64_t b) { return int64_t(a == b); }, [](double a, double b) { return double(a == b); }, true}},
      {"Greater",
       {[](int64_t a, int64_t b) { return int64_t(a > b); }, [](double a, double b) { return double(a > b); }, true}},
      {"Less",
       {[](int64_t a, int64_t b) { return int64_t(a < b); }, [](double a, double b) { return double(a < b); }, true}},
      {"GreaterOrEqual",
       {[](int64_t a, int64_t b) { return int64_t(a >= b); }, [](double a, double b) { return double(a >= b); }, true}},
      {"LessOrEqual",
       {[](int64_t a, int64_t b) { return int64_t(a <= b); }, [](double a, double b) { return double(a <= b); }, true}},
      {"And",
       {[](int64_t a, int64_t b) { return int64_t(a && b); }, [](double a, double b) { return double(a && b); }, true}},
      {"Or",
       {[](int64_t a, int64_t b) { return int64_t(a || b); }, [](double a, double b) { return double(a || b); }, true}},
      {"Xor",
       {[](int64_t a, int64_t b) { return int64_t(!a != !b); }, [](double a, double b) { return double(!a != !b); },
        true}}};
  return operators;
}

Constant binary(const NodeReader& node, const Operator& op, const Constant& a, const Constant& b) {
  Constant out{.shape = folded_shape(node, a.shape, b.shape)};
  const bool integers = a.integers && b.integers && op.integers, truncates = a.integers && !op.integers;
  out.integers = integers || truncates || op.compares;
  for (int64_t i = 0; i < out.shape.count(); ++i) {
    const size_t at_a = place_in(a.shape, out.shape, i), at_b = place_in(b.shape, out.shape, i);
    if (integers) {
      out.ints.push_back(op.integers(a.ints[at_a], b.ints[at_b]));
      continue;
    }
    const double value = op.floats(a.at(at_a), b.at(at_b));
    if (truncates)
      out.ints.push_back(whole_part(value));
    else
      out.integers ? out.ints.push_back(value != 0) : out.floats.push_back(float(value));
  }
  return out;
}

/// Operators of two operands; Min, Max and Sum have any number.
void fold_binary(NodeReader& node) {
  Operator op = binary_operators().at(node.op() == "Sum" ? "Add" : node.op());
  if (node.op() == "Mod" && node.integer("fmod", 0) != 0)  // the sign of the dividend, for integers, too
    op.integers = [](int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; };
  Constant out = *node.constant(0, "an operand");
  if (node.inputs() < 2 && node.op() != "Min" && node.op() != "Max" && node.op() != "Sum")
    node.fail("input 1, an operand, is missing");
  for (size_t i = 1; i < node.inputs(); ++i) out = binary(node, op, out, *node.constant(i, "an operand"));
  node.set(0, std::move(out));
}

/// A bound of a Clip that is missing does not limit.
void fold_clip(NodeReader& node) {
  Constant out = *node.constant(0, "the operand");
  const auto low = node.bound("min", 1), high = node.bound("max", 2);
  for (float& value : out.floats) {
    if (low) value = std::max(value, *low);
    if (high) value = std::min(value, *high);
  }
  const auto whole = [&](const char* name, size_t input, float bound) {  // a float does not hold every integer
    return node.has(name) ? whole_part(double(bound)) : node.constant(input, "a bound")->as_integers()[0];
  };
  for (int64_t& value : out.ints) {
    if (low) value = std::max(value, whole("min", 1, *low));
    if (high) value = std::min(value, whole("max", 2, *high));
  }
  node.set(0, std::move(out));
}

const std::map<std::string, double (*)(double)>& unary_operators() {
  static const std::map<std::string, double (*)(double)> operators = {
      {"Neg", [](double v) { return -v; }},
      {"Abs", [](double v) { return std::abs(v); }},
      {"Floor", [](double v) { return std::floor(v); }},
      {"Ceil", [](double v) { return std::ceil(v); }},
      {"Sqrt", [](double v) { return std::sqrt(v); }},
      {"Exp", [](double v) { return std::exp(v); }},
      {"Log", [](double v) { return std::log(v); }},
      {"Reciprocal", [](double v) { return 1 / v; }},
      {"Not", [](double v) { return double(v == 0); }},
      {"Sign", [](double v) { return double((v > 0) - (v < 0)); }},
      {"Sin", [](double v) { return std::sin(v); }},
      {"Cos", [](double v) { return std::cos(v); }},
      {"Tan", [](double v) { return std::tan(v); }},
      {"Tanh", [](double v) { return std::tanh(v); }},
      {"Erf", [](double v) { return std::erf(v); }},
      {"Round", [](double v) { return std::nearbyint(v); }},
      {"Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }}};
  return operators;
}

void fold_unary(NodeReader& node) {
  const auto change = unary_operators().at(node.op());
  Constant out = *node.constant(0, "the operand");
  for (float& value : out.floats) value = float(change(double(value)));
  for (int64_t& value : out.ints) value = whole_part(change(double(value)));
  node.set(0, std::move(out));
}

/// Any number except 0 is true, including fractions.
Constant truth_of(const Constant& x) {
  Constant out{.shape = x.shape, .integers = true};
  for (size_t i = 0; i < x.count(); ++i) out.ints.push_back(x.at(i) != 0);
  return out;
}

void fold_cast(NodeReader& node) {
  const ConstantPtr x = node.constant(0, "the operand");
  const int64_t to = node.integer("to", 0);
  if (to == onnx::TensorProto::BOOL) return node.set(0, truth_of(*x));
  const bool floats = to == onnx::TensorProto::FLOAT || to == onnx::TensorProto::FLOAT16 ||
                      to == onnx::TensorProto::DOUBLE || to == onnx::TensorProto::BFLOAT16;
  Constant out{.shape = x->shape, .integers = !floats};
  if (floats)
    out.floats = x->as_floats();
  else
    out.ints = x->as_integers();
  node.set(0, std::move(out));
}

void fold_where(NodeReader& node) {
  const ConstantPtr which = node.constant(0, "the condition"), a = node.constant(1, "an operand"),
                    b = node.constant(2, "an operand");
  Constant out{.shape = folded_shape(node, which->shape, folded_shape(node, a->shape, b->shape)),
               .integers = a->integers && b->integers};
  for (int64_t i = 0; i < out.shape.count(); ++i) {
    const bool first = which->at(place_in(which->shape, out.shape, i)) != 0;
    const Constant& from = first ? *a : *b;
    const size_t at = place_in(from.shape, out.shape, i);
    out.integers ? out.ints.push_back(from.ints[at]) : out.floats.push_back(float(from.at(at)));
  }
  node.set(0, std::move(out));
}

void fold_expand(NodeReader& node) {
  const ConstantPtr x = node.constant(0, "the operand");
  const std::vector<int64_t> dims = node.constant(1, "the shape")->as_integers();
  for (const int64_t dim : dims)
    if (dim < 0) node.fail("extent " + std::to_string(dim) + " is negative");
  if (std::ranges::any_of(dims, [&](int64_t dim) { return node.batch().in(dim); })) return importer_of("Expand")(node);
  Constant out{.shape = folded_shape(node, x->shape, Shape(dims)), .integers = x->integers};
  for (int64_t i = 0; i < out.shape.count(); ++i) {
    const size_t at = place_in(x->shape, out.shape, i);
    out.integers ? out.ints.push_back(x->ints[at]) : out.floats.push_back(x->floats[at]);
  }
  node.set(0, std::move(out));
}

}  // namespace

void add_folding(Table& table) {
  for (const auto& [name, op] : binary_operators()) table[name] = fold_binary;
  for (const auto& [name, op] : unary_operators()) table[name] = fold_unary;
  table["Sum"] = fold_binary;
  table.insert({{"Clip", fold_clip}, {"Cast", fold_cast}, {"Where", fold_where}, {"Expand", fold_expand}});
}

}  // namespace cortado::importing
