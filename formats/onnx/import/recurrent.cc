// LSTM. ONNX and Caffe both order operands as steps x sequences x inputs; the gates are i, o, f, g in ONNX and i, f, o,
// g in Caffe. ONNX's first output is steps x directions x sequences x units.
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

/// One direction of D x 4H x inputs, with the rows in Caffe's gate order.
BlobFile gates(NodeReader& node, const Constant& all, int64_t direction, int64_t units, int64_t directions) {
  const int64_t inputs = int64_t(all.count()) / (directions * 4 * units), block = units * inputs;
  if (all.shape != Shape{directions, 4 * units, inputs})
    node.fail("the weights have shape " + all.shape.str() + ", which does not match hidden_size");
  BlobFile out{{4 * units, inputs}, {}};
  const std::vector<float> from = all.as_floats();
  for (const int64_t gate : {0, 2, 1, 3}) {
    const auto begin = from.begin() + (direction * 4 + gate) * block;
    out.data.insert(out.data.end(), begin, begin + block);
  }
  return out;
}

/// The sum of the biases of the input and of the state.
BlobFile terms(NodeReader& node, int64_t direction, int64_t units, int64_t directions) {
  BlobFile out{{4 * units}, std::vector<float>(size_t(4 * units), 0)};
  if (!node.has_input(3)) return out;
  const ConstantPtr all = node.constant(3, "the biases");
  if (all->shape != Shape{directions, 8 * units})
    node.fail("the biases have shape " + all->shape.str() + ", which does not match hidden_size");
  size_t at = 0;
  for (const int64_t gate : {0, 2, 1, 3})
    for (int64_t unit = 0; unit < units; ++unit, ++at) {
      const size_t from = size_t(direction * 8 * units + gate * units + unit);
      out.data[at] = float(all->at(from) + all->at(from + size_t(4 * units)));
    }
  return out;
}

Blob turned(NodeReader& node, const Blob& x) {
  caffe::LayerParameter reverse = NodeReader::layer("Reverse");
  reverse.mutable_reverse_param()->set_axis(0);
  return node.add(reverse, {x});
}

void refuse_extras(NodeReader& node) {
  if (node.has_output(1) || node.has_output(2))
    node.fail("the outputs of the last state and cell are not supported", "use the first output only");
  if (node.integer("layout", 0) != 0) node.fail("layout 1 (sequences before steps) is not supported");
  for (const char* attribute : {"activations", "clip", "input_forget"})
    if (node.has(attribute)) node.fail(std::string("attribute ") + attribute + " is not supported");
  if (node.has_input(4) || node.has_input(7)) node.fail("sequence_lens and peepholes are not supported");
  for (const size_t state : {size_t(5), size_t(6)}) {
    if (!node.has_input(state)) continue;
    const ConstantPtr start = node.constant(state, "the initial state");
    for (size_t i = 0; i < start->count(); ++i)
      if (start->at(i) != 0) node.fail("an initial state other than 0 is not supported");
  }
}

void read_lstm(NodeReader& node) {
  refuse_extras(node);
  const std::string direction = node.text("direction", "forward");
  const int64_t directions = direction == "bidirectional" ? 2 : 1, units = node.integer("hidden_size", 0);
  const Blob x = node.x(0);
  if (x.shape.axes() != 3 || units < 1 || units > INT32_MAX / 8)
    node.fail("an input of shape " + x.shape.str() + " with hidden_size " + std::to_string(units) +
              " is not supported");
  const ConstantPtr of_x = node.constant(1, "the weights"), of_h = node.constant(2, "the weights of the state");
  std::vector<Blob> results;
  for (int64_t d = 0; d < directions; ++d) {
    const bool backwards = direction == "reverse" || d == 1;
    caffe::LayerParameter layer = NodeReader::layer("Lstm");
    layer.mutable_lstm_param()->set_num_output(uint32_t(units));
    const Blob y = node.add(layer, {backwards ? turned(node, x) : x},
                            {gates(node, *of_x, d, units, directions), gates(node, *of_h, d, units, directions),
                             terms(node, d, units, directions)});
    const Blob forwards = backwards ? turned(node, y) : y;
    results.push_back(node.reshaped(forwards, {0, 1, -1, units}));
  }
  if (directions == 1) return node.set(0, results[0]);
  caffe::LayerParameter both = NodeReader::layer("Concat");
  both.mutable_concat_param()->set_axis(1);
  node.finish(both, results);
}

}  // namespace

void add_recurrent(Table& table) { table["LSTM"] = read_lstm; }

}  // namespace cortado::importing
