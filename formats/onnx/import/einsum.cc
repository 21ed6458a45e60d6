// Einsum of two operands, as a matrix product: letters in both operands and in the result are the axes before the
// matrices, letters in both operands alone are summed over, and the others are rows and columns.
#include <algorithm>
#include <cctype>

#include "onnx/import/composing.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

struct Equation {
  std::string a, b, result;
};

bool contains_letter(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

bool repeats_letter(const std::string& letters) {
  for (const char letter : letters)
    if (std::count(letters.begin(), letters.end(), letter) > 1) return true;
  return false;
}

Equation equation_of(const NodeReader& node) {
  std::string text = node.text("equation", "");
  std::erase(text, ' ');
  const size_t comma = text.find(','), arrow = text.find("->");
  if (arrow == std::string::npos || comma == std::string::npos || comma > arrow || node.inputs() != 2)
    node.fail("equation '" + text + "' is not supported", "use two operands and a result, as in 'ij,jk->ik'");
  const Equation equation{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const std::string* part : {&equation.a, &equation.b, &equation.result})
    if (repeats_letter(*part) || !std::ranges::all_of(*part, [](char c) { return std::isalpha(uint8_t(c)) != 0; }))
      node.fail("equation '" + text + "' is not supported", "use each letter once in each operand");
  for (const char letter : equation.a + equation.b)
    if (!contains_letter(equation.result, letter) &&
        !(contains_letter(equation.a, letter) && contains_letter(equation.b, letter)))
      node.fail("equation '" + text + "' sums over an axis of one operand, which is not supported");
  for (const char letter : equation.result)
    if (!contains_letter(equation.a + equation.b, letter))
      node.fail("the result of equation '" + text + "' has an unknown letter");
  return equation;
}

/// The letters of `from` that are, or are not, in `other`, and in the result or not.
std::string chosen_letters(const std::string& from, const std::string& other, const std::string& result, bool in_other,
                           bool in_result) {
  std::string out;
  for (const char letter : from)
    if (contains_letter(other, letter) == in_other && contains_letter(result, letter) == in_result) out += letter;
  return out;
}

Blob with_order(NodeReader& node, const Blob& x, const std::string& letters, const std::string& order) {
  std::vector<int64_t> axes;
  for (const char letter : order) axes.push_back(int64_t(letters.find(letter)));
  return node.permuted(x, axes);
}

/// x as batch... x rows x columns, where `before`, `rows` and the rest of its axes are one axis each.
Blob as_matrices(NodeReader& node, const Blob& x, int before, int rows) {
  const Shape& s = x.shape;
  return node.reshaped(x, {s.count(0, before), s.count(before, before + rows), s.count(before + rows)});
}

void read_einsum(NodeReader& node) {
  const Equation equation = equation_of(node);
  const Blob a = node.x(0), b = node.x(1);
  if (a.shape.axes() != int(equation.a.size()) || b.shape.axes() != int(equation.b.size()))
    node.fail("the equation does not match operands of shapes " + a.shape.str() + " and " + b.shape.str());
  const std::string both = chosen_letters(equation.a, equation.b, equation.result, true, true),
                    summed = chosen_letters(equation.a, equation.b, equation.result, true, false),
                    rows = chosen_letters(equation.a, equation.b, equation.result, false, true),
                    columns = chosen_letters(equation.b, equation.a, equation.result, false, true);
  const Blob left = with_order(node, a, equation.a, both + rows + summed),
             right = with_order(node, b, equation.b, both + summed + columns);
  std::vector<int64_t> dims(left.shape.dims().begin(), left.shape.dims().end() - int64_t(summed.size()));
  dims.insert(dims.end(), right.shape.dims().end() - int64_t(columns.size()), right.shape.dims().end());
  for (size_t i = 0; i < both.size(); ++i)
    if (left.shape[int(i)] != right.shape[int(i)]) node.fail("an axis differs between its operands");
  const int batch = int(both.size());
  const Blob product = node.add(NodeReader::layer("MatMul"), {as_matrices(node, left, batch, int(rows.size())),
                                                              as_matrices(node, right, batch, int(summed.size()))});
  const Blob whole = node.reshaped(product, dims);
  const std::string have = both + rows + columns;
  std::vector<int64_t> order;
  for (const char letter : equation.result) order.push_back(int64_t(have.find(letter)));
  node.finish_permuted(whole, order);
}

}  // namespace

void add_einsum(Table& table) { table["Einsum"] = read_einsum; }

}  // namespace cortado::importing
