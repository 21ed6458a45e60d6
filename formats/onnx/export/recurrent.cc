// Recurrent layers. Caffe and ONNX both order operands as steps x sequences x inputs. The gates of an LSTM are i, f, o,
// g in Caffe and i, o, f, g in ONNX.
#include "onnx/export/table.h"

namespace cortado::exporting {

namespace {

/// The gates' rows in ONNX's order, 1 x 4H x inputs.
std::string gates(LayerWriter& layer, const std::string& name, int weight, int64_t units) {
  const std::span<const float> from = layer.values(weight);
  const int64_t inputs = int64_t(from.size()) / (4 * units), block = units * inputs;
  std::vector<float> to;
  for (const int gate : {0, 2, 1, 3})
    to.insert(to.end(), from.begin() + gate * block, from.begin() + (gate + 1) * block);
  return layer.floats(name, {1, 4 * units, inputs}, to);
}

/// The biases of x, and zeros for those of the state, which Caffe does not have.
std::string terms(LayerWriter& layer, int weight, int64_t units) {
  const std::span<const float> from = layer.values(weight);
  std::vector<float> to;
  for (const int gate : {0, 2, 1, 3})
    to.insert(to.end(), from.begin() + gate * units, from.begin() + (gate + 1) * units);
  to.resize(size_t(8 * units), 0);
  return layer.floats("B", {1, 8 * units}, to);
}

/// Indices of the blobs.
struct Weights {
  int x, h, bias;
};

/// Removes the direction axis of y, steps x 1 x sequences x units.
void finish_lstm(LayerWriter& layer, const std::string& x, const Weights& weights, int64_t units) {
  const std::string y = layer.add(
      {"LSTM",
       {x, gates(layer, "W", weights.x, units), gates(layer, "R", weights.h, units), terms(layer, weights.bias, units)},
       {{"hidden_size", units}}});
  const Operand& rows = layer.x[0];
  const Operand directions = LayerWriter::shaped(rows, {rows.shape[0], 1, rows.shape[1], units}, {0, -1, 1, -1});
  layer.finish({"Reshape", {y, layer.integers("shape", layer.reshape_target(directions, layer.y[0]))}});
}

void refuse_unless_fresh(LayerWriter& layer, size_t bottom) {
  if (layer.x[bottom].maker == "ContinuationIndicator") return;
  layer.refuse("bottom '" + layer.x[bottom].name + "' defines at run time where sequences begin",
               "use a ContinuationIndicator layer as this bottom, so that sequences begin with each pass",
               "bottom[" + std::to_string(bottom) + "]");
}

/// junhyukoh's fork: W_x, W_h, b.
void write_small_lstm(LayerWriter& layer) {
  const auto& param = layer.config.lstm_param();
  if (layer.x[0].shape.axes() != 3 || param.has_batch_size())
    layer.refuse("only a bottom of steps x sequences x inputs can be exported", {}, "bottom[0]");
  if (layer.x.size() > 1) refuse_unless_fresh(layer, 1);
  finish_lstm(layer, layer.x[0].name, {0, 1, 2}, param.num_output());
}

/// Caffe: W_x, b, W_h.
void write_lstm(LayerWriter& layer) {
  const auto& param = layer.config.recurrent_param();
  refuse_unless_fresh(layer, 1);
  if (layer.x.size() > 2 || layer.y.size() > 1)
    layer.refuse("a static input or an exposed state cannot be exported", {}, "recurrent_param");
  const Operand& x = layer.x[0];
  const Operand rows = LayerWriter::shaped(x, {x.shape[0], x.shape[1], x.shape.count(2)}, {0, 1, -1});
  const std::string steps = x.shape.axes() == 3 ? x.name : layer.reshaped(x, rows);
  finish_lstm(layer, steps, {0, 2, 1}, param.num_output());
}

}  // namespace

void add_recurrent(Table& table) {
  table.insert({{"Lstm", write_small_lstm}, {"LSTM", write_lstm}, {"ContinuationIndicator", [](LayerWriter&) {}}});
}

}  // namespace cortado::exporting
