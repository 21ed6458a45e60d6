// GRU and RNN, which no layer computes: their steps one after the other, with layers for each.
#include "onnx/import/composing.h"
#include "onnx/import/recurrent.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

constexpr int64_t kMaxSteps = 256;
constexpr int64_t kMaxUnrolled = int64_t(1) << 24;  ///< weights of all steps

/// The weights of one direction: a matrix and biases for the input, and for the state.
struct Cell {
  BlobFile of_x, of_x_terms, of_h, of_h_terms;
};

Blob product(NodeReader& node, const Blob& x, const BlobFile& matrix, const BlobFile& terms) {
  caffe::LayerParameter layer = NodeReader::layer("InnerProduct");
  layer.mutable_inner_product_param()->set_num_output(uint32_t(matrix.shape[0]));
  layer.mutable_inner_product_param()->set_axis(2);
  return node.add(layer, {x}, {matrix, terms});
}

/// The rows [from, to) of a matrix or of biases.
BlobFile some_rows(const BlobFile& all, int64_t from, int64_t to) {
  const int64_t width = all.shape.count(1);
  BlobFile out{all.shape, {all.data.begin() + from * width, all.data.begin() + to * width}};
  out.shape[0] = to - from;
  return out;
}

Blob combined_by(NodeReader& node, caffe::EltwiseParameter::EltwiseOp operation, const std::vector<Blob>& blobs,
                 float second = 1) {
  caffe::LayerParameter layer = NodeReader::layer("Eltwise");
  layer.mutable_eltwise_param()->set_operation(operation);
  if (second != 1)
    for (const float factor : {1.f, second}) layer.mutable_eltwise_param()->add_coeff(factor);
  return node.add(layer, blobs);
}

constexpr auto kSum = caffe::EltwiseParameter::SUM;
constexpr auto kProduct = caffe::EltwiseParameter::PROD;

/// tanh(x + R h + b)
Blob rnn_step(NodeReader& node, const Cell& cell, const Blob& x, const Blob& h) {
  const Blob sum = combined_by(node, kSum, {x, product(node, h, cell.of_h, cell.of_h_terms)});
  return node.add(NodeReader::layer("TanH"), {sum});
}

/// With z and r the sigmoids of their gates: n + z (h - n), where n = tanh(x_n + R_n (r h) + b_n), or with the bias and
/// the product before r.
Blob gru_step(NodeReader& node, const Cell& cell, const Blob& x, const Blob& h) {
  const int64_t units = h.shape[2];
  const bool product_first = node.integer("linear_before_reset", 0) != 0;
  const Blob both = product(node, h, some_rows(cell.of_h, 0, 2 * units), some_rows(cell.of_h_terms, 0, 2 * units));
  const Blob sums = combined_by(node, kSum, {node.sliced(x, 2, 0, 2 * units), both});
  const Blob gates = node.add(NodeReader::layer("Sigmoid"), {sums});
  const Blob z = node.sliced(gates, 2, 0, units), r = node.sliced(gates, 2, units, 2 * units);
  const auto of_state = [&](const Blob& state) {
    return product(node, state, some_rows(cell.of_h, 2 * units, 3 * units),
                   some_rows(cell.of_h_terms, 2 * units, 3 * units));
  };
  const Blob reset =
      product_first ? combined_by(node, kProduct, {r, of_state(h)}) : of_state(combined_by(node, kProduct, {r, h}));
  const Blob sum = combined_by(node, kSum, {node.sliced(x, 2, 2 * units, 3 * units), reset});
  const Blob n = node.add(NodeReader::layer("TanH"), {sum});
  const Blob change = combined_by(node, kProduct, {z, combined_by(node, kSum, {h, n}, -1)});
  return combined_by(node, kSum, {n, change});
}

Cell cell_of(NodeReader& node, const Recurrent& recurrent, int64_t direction, int64_t gates) {
  std::vector<int64_t> own, of_state;
  for (int64_t gate = 0; gate < gates; ++gate) {
    own.push_back(gate);
    of_state.push_back(gates + gate);
  }
  Cell cell{rows_of(node, *node.constant(1, "the weights"), recurrent, direction, gates, own),
            {},
            rows_of(node, *node.constant(2, "the weights of the state"), recurrent, direction, gates, own),
            {}};
  const int64_t rows = gates * recurrent.units;
  cell.of_x_terms = cell.of_h_terms = {{rows}, std::vector<float>(size_t(rows), 0)};
  if (!node.has_input(3)) return cell;
  const ConstantPtr terms = node.constant(3, "the biases");
  cell.of_x_terms = rows_of(node, *terms, recurrent, direction, 2 * gates, own);
  cell.of_h_terms = rows_of(node, *terms, recurrent, direction, 2 * gates, of_state);
  return cell;
}

DirectionResult unrolled(NodeReader& node, const Recurrent& recurrent, int64_t direction, int64_t gates) {
  const Cell cell = cell_of(node, recurrent, direction, gates);
  const int64_t steps = recurrent.x.shape[0];
  if (node.batch().in(steps)) node.fail("the steps are the batch");
  if (steps > kMaxSteps || steps > kMaxUnrolled / cell.of_h.shape.count())
    node.fail(std::to_string(steps) + " steps are not supported", "shorten the sequences, or use LSTM");
  const Blob x = product(node, steps_of(node, recurrent, direction), cell.of_x, cell.of_x_terms);
  std::vector<Blob> results;
  Blob h = initial_state(node, recurrent, 5, direction);
  for (int64_t step = 0; step < steps; ++step) {
    const Blob now = node.sliced(x, 0, step, step + 1);
    h = gates == 1 ? rnn_step(node, cell, now, h) : gru_step(node, cell, now, h);
    results.push_back(h);
  }
  return {joined(node, results, 0), h};
}

void finish_unrolled(NodeReader& node, int64_t gates, const std::vector<std::string>& activations) {
  const Recurrent recurrent = read_recurrent(node, activations);
  std::vector<DirectionResult> results;
  for (int64_t d = 0; d < recurrent.directions; ++d) results.push_back(unrolled(node, recurrent, d, gates));
  finish_directions(node, recurrent, results);
}

}  // namespace

void add_unrolled(Table& table) {
  table["GRU"] = [](NodeReader& node) { finish_unrolled(node, 3, {"Sigmoid", "Tanh"}); };
  table["RNN"] = [](NodeReader& node) { finish_unrolled(node, 1, {"Tanh"}); };
}

}  // namespace cortado::importing
