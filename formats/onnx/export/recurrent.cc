// Recurrent layers. Caffe and ONNX both order operands as steps x sequences x inputs. The gates of an LSTM are i, f, o,
// g in Caffe and i, o, f, g in ONNX. A static input is the same for all steps, so it becomes more inputs of each step.
#include "onnx/export/operators.h"
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// A recurrent operator, and the gates of Caffe's weights in its order.
struct RecurrentUnit {
  const char* op;
  std::vector<size_t> gates;
};
const RecurrentUnit kLstmUnit = {"LSTM", {0, 2, 1, 3}}, kRnnUnit = {"RNN", {0}};

/// Indices of the blobs; fixed: of the static input, or -1.
struct Weights {
  int x, h, bias, fixed = -1;
};

std::vector<float> in_order(std::span<const float> from, const RecurrentUnit& unit) {
  const size_t block = from.size() / unit.gates.size();
  std::vector<float> to;
  for (const size_t gate : unit.gates)
    to.insert(to.end(), from.begin() + gate * block, from.begin() + (gate + 1) * block);
  return to;
}

/// The gates' rows, 1 x rows x inputs; those of the static input follow in the same row.
std::string input_weights(LayerWriter& layer, const RecurrentUnit& unit, const Weights& weights, size_t rows) {
  const std::vector<float> x = in_order(layer.values(weights.x), unit);
  const std::vector<float> fixed =
      weights.fixed < 0 ? std::vector<float>() : in_order(layer.values(weights.fixed), unit);
  const size_t width = x.size() / rows, more = fixed.size() / rows;
  std::vector<float> joined;
  for (size_t row = 0; row < rows; ++row) {
    joined.insert(joined.end(), x.begin() + row * width, x.begin() + (row + 1) * width);
    joined.insert(joined.end(), fixed.begin() + row * more, fixed.begin() + (row + 1) * more);
  }
  return layer.floats("W", {1, int64_t(rows), int64_t(width + more)}, joined);
}

/// The recurrent node over `x`; returns all h, steps x 1 x sequences x units. `states` are its first h and c, if the
/// layer has them; their last values are further tops.
std::string add_recurrence(LayerWriter& layer, const RecurrentUnit& unit, const Weights& weights, const std::string& x,
                           const std::vector<std::string>& states = {}) {
  const std::vector<float> h = in_order(layer.values(weights.h), unit);
  const size_t rows = layer.values(weights.bias).size(), units = h.size() / rows;
  std::vector<float> terms = in_order(layer.values(weights.bias), unit);
  terms.resize(2 * rows, 0);  // ONNX has a bias for the state as well
  Operation node = {
      unit.op,
      {x, input_weights(layer, unit, weights, rows), layer.floats("R", {1, int64_t(rows), int64_t(units)}, h),
       layer.floats("B", {1, int64_t(2 * rows)}, terms)},
      {{"hidden_size", int64_t(units)}}};
  if (!states.empty()) node.inputs.push_back("");
  node.inputs.insert(node.inputs.end(), states.begin(), states.end());
  std::vector<std::string> results = {layer.new_name(unit.op)};
  for (size_t i = 1; i < layer.y.size(); ++i) results.push_back(layer.y[i].name);
  layer.add_named(node, results);
  return results[0];
}

/// A Reshape that removes the direction axis of all h.
Operation without_direction(LayerWriter& layer, const std::string& h, int64_t units) {
  const Operand& rows = layer.x[0];
  const Operand directions = LayerWriter::shaped(rows, {rows.shape[0], 1, rows.shape[1], units}, {0, -1, 1, -1});
  return {"Reshape", {h, layer.integers("shape", layer.reshape_target(directions, layer.y[0]))}};
}

/// Whether the bottom is 0 in the first step and 1 in all others, in every pass.
bool starts_fresh(const LayerWriter& layer, size_t bottom) {
  const std::vector<float> values = layer.constants.bottom(bottom);
  const size_t sequences = values.size() / size_t(layer.x[bottom].shape[0]);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != (i < sequences ? 0 : 1)) return false;
  return !values.empty();
}

void refuse_unless_fresh(LayerWriter& layer, size_t bottom) {
  if (starts_fresh(layer, bottom)) return;
  layer.refuse("bottom '" + layer.x[bottom].name + "' defines at run time where sequences begin",
               "use a ContinuationIndicator layer as this bottom, so that sequences begin with each pass",
               "bottom[" + std::to_string(bottom) + "]");
}

/// junhyukoh's fork: W_x, W_h, b. Steps and sequences have an axis each, or share the first axis.
void write_small_lstm(LayerWriter& layer) {
  const auto& param = layer.config.lstm_param();
  const Operand& x = layer.x[0];
  if (layer.x.size() > 1) refuse_unless_fresh(layer, 1);
  const int64_t units = param.num_output();
  if (x.shape.axes() == 3 && !param.has_batch_size())
    return layer.finish(without_direction(layer, add_recurrence(layer, kLstmUnit, {0, 1, 2}, x.name), units));
  const std::string steps = reshape(layer, x.name, {-1, param.batch_size(), x.shape.count(1)});
  const std::string h = add_recurrence(layer, kLstmUnit, {0, 1, 2}, steps);
  layer.finish({"Reshape", {h, layer.integers("shape", {-1, units})}});
}

/// The inputs of all steps, with the static input after those of each.
std::string all_inputs(LayerWriter& layer, bool fixed) {
  const Operand& x = layer.x[0];
  const Operand rows = LayerWriter::shaped(x, {x.shape[0], x.shape[1], x.shape.count(2)}, {0, 1, -1});
  const std::string steps = x.shape.axes() == 3 ? x.name : layer.reshaped(x, rows);
  if (!fixed) return steps;
  const std::string once = reshape(layer, layer.x[2].name, {1, -1, layer.x[2].shape.count(1)});
  return concat(layer, {steps, binary(layer, "Expand", once, layer.integers("steps", {x.shape[0], 1, 1}))}, 2);
}

/// The exposed state before the first step. A `cont` that is known at run time may drop it.
std::vector<std::string> first_states(LayerWriter& layer, size_t count) {
  std::vector<std::string> states;
  if (count == 0 || starts_fresh(layer, 1)) return states;
  const std::string continues = reshape(layer, layer.x[1].name, {1, -1, 1});
  for (size_t i = layer.x.size() - count; i < layer.x.size(); ++i)
    states.push_back(binary(layer, "Mul", layer.x[i].name, continues));
  return states;
}

/// Caffe's layers: W_x, b, W_s with a static input, W_h.
std::string add_caffe_recurrence(LayerWriter& layer, const RecurrentUnit& unit, Weights& weights) {
  const size_t exposed = layer.y.size() - 1;
  const bool fixed = layer.x.size() == 3 + exposed;
  if (exposed == 0 || layer.x[0].shape[0] > 1) refuse_unless_fresh(layer, 1);
  weights = {0, fixed ? 3 : 2, 1, fixed ? 2 : -1};
  return add_recurrence(layer, unit, weights, all_inputs(layer, fixed), first_states(layer, exposed));
}

void write_lstm(LayerWriter& layer) {
  Weights weights{};
  const std::string h = add_caffe_recurrence(layer, kLstmUnit, weights);
  layer.finish(without_direction(layer, h, layer.config.recurrent_param().num_output()));
}

/// y = tanh(W_o h + b_o).
void write_rnn(LayerWriter& layer) {
  Weights weights{};
  const std::string all = add_caffe_recurrence(layer, kRnnUnit, weights);
  const std::string h = layer.add(without_direction(layer, all, layer.config.recurrent_param().num_output()));
  const std::string product = binary(layer, "MatMul", h, transpose(layer, layer.weight(weights.h + 1), {1, 0}));
  layer.finish({"Tanh", {binary(layer, "Add", product, layer.weight(weights.h + 2))}});
}

void write_indicator(LayerWriter& layer) {
  const Shape& y = layer.y[0].shape;
  if (!layer.y[0].axis_is_dynamic(1)) return layer.finish_constant(layer.constants.top(0));
  std::vector<float> steps(size_t(y[0]), 1);
  steps[0] = 0;
  const bool has_bottom = layer.config.bottom_size() > 0;
  const int axis = has_bottom ? layer.x[0].shape.canonical_axis(layer.config.continuation_indicator_param().axis())
                              : dynamic_axis(layer.x[0]);
  finish_expanded(layer, layer.floats("once", {y[0], 1}, steps), axis);
}

}  // namespace

void add_recurrent(Table& table) {
  table.insert({{"Lstm", write_small_lstm},
                {"LSTM", write_lstm},
                {"RNN", write_rnn},
                {"ContinuationIndicator", write_indicator}});
}

}  // namespace cortado::exporting
