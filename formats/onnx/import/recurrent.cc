#include "onnx/import/recurrent.h"

#include <algorithm>

#include "onnx/import/composing.h"
#include "onnx/import/reductions.h"
#include "onnx/import/table.h"

namespace cortado::importing {

namespace {

void check_attributes(NodeReader& node, const std::vector<std::string>& activations, int64_t directions) {
  for (const char* attribute : {"clip", "input_forget"})
    if (node.real(attribute, 0) != 0 || node.integer(attribute, 0) != 0)
      node.fail(std::string("attribute ") + attribute + " is not supported");
  const std::vector<std::string> given = node.texts("activations");
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i] != activations[i % activations.size()] || given.size() != activations.size() * size_t(directions))
      node.fail("activation '" + given[i] + "' is not supported here");
}

/// Lengths of sequences must be the number of steps.
void check_lengths(NodeReader& node, int64_t steps) {
  if (!node.has_input(4)) return;
  for (const int64_t length : node.constant(4, "the lengths of sequences")->as_integers())
    if (length != steps) node.fail("sequences of different lengths are not supported");
}

bool is_zero(const Constant& constant) {
  for (size_t i = 0; i < constant.count(); ++i)
    if (constant.at(i) != 0) return false;
  return true;
}

Blob turned(NodeReader& node, const Blob& x) {
  caffe::LayerParameter reverse = NodeReader::layer("Reverse");
  reverse.mutable_reverse_param()->set_axis(0);
  return node.add(reverse, {x});
}

}  // namespace

Recurrent read_recurrent(NodeReader& node, const std::vector<std::string>& activations) {
  const std::string direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    node.fail("direction '" + direction + "' is unknown");
  Recurrent recurrent{.units = node.integer("hidden_size", 0), .directions = direction == "bidirectional" ? 2 : 1};
  recurrent.first_is_reverse = direction == "reverse";
  recurrent.batch_first = node.integer("layout", 0) != 0;
  Blob x = node.x(0);
  if (x.shape.axes() != 3 || x.shape.count() == 0 || recurrent.units < 1 || recurrent.units > INT32_MAX / 8)
    node.fail("an input of shape " + x.shape.str() + " with hidden_size " + std::to_string(recurrent.units) +
              " is not supported");
  if (recurrent.batch_first) x = node.permuted(x, {1, 0, 2});
  check_attributes(node, activations, recurrent.directions);
  check_lengths(node, x.shape[0]);
  recurrent.x = x;
  return recurrent;
}

Blob steps_of(NodeReader& node, const Recurrent& recurrent, int64_t direction) {
  return recurrent.is_reverse(direction) ? turned(node, recurrent.x) : recurrent.x;
}

BlobFile rows_of(NodeReader& node, const Constant& all, const Recurrent& recurrent, int64_t direction, int64_t blocks,
                 const std::vector<int64_t>& order) {
  const int64_t rows = blocks * recurrent.units, columns = int64_t(all.count()) / (recurrent.directions * rows);
  const bool matrix = all.shape.axes() == 3;
  if (all.count() == 0 ||
      all.shape != (matrix ? Shape{recurrent.directions, rows, columns} : Shape{recurrent.directions, rows}))
    node.fail("the weights have shape " + all.shape.str() + ", which does not match hidden_size");
  const int64_t block = recurrent.units * columns;
  BlobFile out{{int64_t(order.size()) * recurrent.units, columns}, {}};
  if (!matrix) out.shape = {int64_t(order.size()) * recurrent.units};
  const std::vector<float> from = all.as_floats();
  for (const int64_t at : order) {
    const auto begin = from.begin() + (direction * blocks + at) * block;
    out.data.insert(out.data.end(), begin, begin + block);
  }
  return out;
}

bool has_initial_state(const NodeReader& node, size_t i) {
  return node.has_input(i) && !(node.is_constant(i) && is_zero(*node.constant(i, "the initial state")));
}

Blob initial_state(NodeReader& node, const Recurrent& recurrent, size_t i, int64_t direction) {
  if (has_initial_state(node, i)) {
    const Blob all = recurrent.batch_first ? node.permuted(node.x(i), {1, 0, 2}) : node.x(i);
    if (all.shape != Shape{recurrent.directions, recurrent.x.shape[1], recurrent.units})
      node.fail("the initial state has shape " + all.shape.str() + ", which does not match hidden_size");
    return node.sliced(all, 0, direction, direction + 1);
  }
  const Blob zeros = filled(node, node.sliced(recurrent.x, 0, 0, 1), 0);
  const Blob one = reduced(node, zeros, {2}, caffe::ReductionParameter::SUM);
  return expanded(node, one, Shape{1, recurrent.x.shape[1], recurrent.units});
}

void finish_directions(NodeReader& node, const Recurrent& recurrent, const std::vector<DirectionResult>& results) {
  std::vector<Blob> steps, states, cells;
  for (size_t d = 0; d < results.size(); ++d) {
    const Blob& y = results[d].y;
    const Blob forwards = recurrent.is_reverse(int64_t(d)) && node.has_output(0) ? turned(node, y) : y;
    if (node.has_output(0)) steps.push_back(node.reshaped(forwards, {0, 1, -1, recurrent.units}));
    states.push_back(results[d].last_h);
    cells.push_back(results[d].last_c);
  }
  const auto set = [&](size_t i, const std::vector<Blob>& parts, int axis, const std::vector<int64_t>& batch_first) {
    if (!node.has_output(i)) return;
    const Blob all = joined(node, parts, axis);
    node.set(i, recurrent.batch_first ? node.permuted(all, batch_first) : all);
  };
  set(0, steps, 1, {2, 0, 1, 3});
  set(1, states, 0, {1, 0, 2});
  set(2, cells, 0, {1, 0, 2});
}

}  // namespace cortado::importing
