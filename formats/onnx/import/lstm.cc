// LSTM. ONNX and Caffe both order operands as steps x sequences x inputs; the gates are i, o, f, g in ONNX and i, f, o,
// g in Caffe. Lstm layers start with zeros. LSTM layers have states as bottoms and tops, if the model needs them.
#include "onnx/import/composing.h"
#include "onnx/import/recurrent.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

const std::vector<int64_t> kGates = {0, 2, 1, 3};  ///< Caffe's order

/// The sum of the biases of the input and of the state.
BlobFile lstm_terms(NodeReader& node, const Recurrent& lstm, int64_t direction) {
  BlobFile out{{4 * lstm.units}, std::vector<float>(size_t(4 * lstm.units), 0)};
  if (!node.has_input(3)) return out;
  const ConstantPtr all = node.constant(3, "the biases");
  out = rows_of(node, *all, lstm, direction, 8, kGates);
  const BlobFile more = rows_of(node, *all, lstm, direction, 8, {4, 6, 5, 7});
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] += more.data[i];
  return out;
}

/// One for each step and sequence: all steps continue from the state before them.
Blob continuations(NodeReader& node, const Blob& x) {
  return node.reshaped(filled(node, node.sliced(x, 2, 0, 1), 1), {0, 0});
}

DirectionResult exposed_lstm(NodeReader& node, const Recurrent& lstm, int64_t direction,
                             std::vector<BlobFile> weights) {
  caffe::LayerParameter layer = NodeReader::layer("LSTM");
  layer.mutable_recurrent_param()->set_num_output(uint32_t(lstm.units));
  layer.mutable_recurrent_param()->set_expose_hidden(true);
  const Blob x = steps_of(node, lstm, direction);
  std::swap(weights[1], weights[2]);  // the biases come second
  const std::vector<Blob> tops = node.add_many(
      layer,
      {x, continuations(node, x), initial_state(node, lstm, 5, direction), initial_state(node, lstm, 6, direction)}, 3,
      std::move(weights));
  return {tops[0], tops[1], tops[2]};
}

DirectionResult plain_lstm(NodeReader& node, const Recurrent& lstm, int64_t direction, std::vector<BlobFile> weights) {
  caffe::LayerParameter layer = NodeReader::layer("Lstm");
  layer.mutable_lstm_param()->set_num_output(uint32_t(lstm.units));
  const Blob y = node.add(layer, {steps_of(node, lstm, direction)}, std::move(weights));
  const int64_t steps = y.shape[0];
  return {y, node.has_output(1) ? node.sliced(y, 0, steps - 1, steps) : Blob{}};
}

void read_lstm(NodeReader& node) {
  if (node.has_input(7)) node.fail("peepholes are not supported");
  const Recurrent lstm = read_recurrent(node, {"Sigmoid", "Tanh", "Tanh"});
  const ConstantPtr of_x = node.constant(1, "the weights"), of_h = node.constant(2, "the weights of the state");
  const bool exposes = node.has_output(2) || has_initial_state(node, 5) || has_initial_state(node, 6);
  std::vector<DirectionResult> results;
  for (int64_t d = 0; d < lstm.directions; ++d) {
    std::vector<BlobFile> weights = {rows_of(node, *of_x, lstm, d, 4, kGates), rows_of(node, *of_h, lstm, d, 4, kGates),
                                     lstm_terms(node, lstm, d)};
    results.push_back(exposes ? exposed_lstm(node, lstm, d, std::move(weights))
                              : plain_lstm(node, lstm, d, std::move(weights)));
  }
  finish_directions(node, lstm, results);
}

}  // namespace

void add_recurrent(Table& table) {
  table["LSTM"] = read_lstm;
  add_unrolled(table);
}

}  // namespace cortado::importing
