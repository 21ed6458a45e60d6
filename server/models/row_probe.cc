#include "server/models/row_probe.h"

#include <algorithm>
#include <random>

namespace cortado::server {

namespace {

bool has_row_for_each(const Arrays& outputs, int64_t rows) {
  return std::ranges::all_of(outputs, [&](const auto& output) {
    const Shape& shape = output.second.shape;
    return shape.axes() > 0 && shape[0] == rows && shape.count() > 0;
  });
}

bool first_row_equals(const Arrays& a, const Arrays& b) {
  return std::ranges::all_of(a, [&](const auto& output) {
    const Array& other = b.at(output.first);
    const auto end = output.second.values.begin() + output.second.shape.count(1);
    return std::equal(output.second.values.begin(), end, other.values.begin());
  });
}

}  // namespace

std::map<std::string, Shape> shapes_with_rows(const Predictor& predictor, int64_t rows) {
  std::map<std::string, Shape> shapes = predictor.inputs();
  for (auto& [name, shape] : shapes) shape[0] = rows;
  return shapes;
}

Arrays drawn_inputs(const std::map<std::string, Shape>& shapes, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  Arrays inputs;
  for (const auto& [name, shape] : shapes) {
    Array& array = inputs[name];
    array.shape = shape;
    array.values.resize(size_t(shape.count()));
    for (float& value : array.values) value = draw(generator);
  }
  return inputs;
}

bool computes_rows_alone(Predictor& predictor) {
  for (const auto& [name, shape] : predictor.inputs())
    if (shape.axes() == 0) return false;
  if (!has_row_for_each(predictor.predict(drawn_inputs(shapes_with_rows(predictor, 1), 1)), 1)) return false;
  const auto two_rows = shapes_with_rows(predictor, 2);
  Arrays inputs = drawn_inputs(two_rows, 2);
  const Arrays before = predictor.predict(inputs);
  if (!has_row_for_each(before, 2)) return false;
  const Arrays others = drawn_inputs(two_rows, 3);
  for (auto& [name, array] : inputs) {
    const int64_t row = array.shape.count(1);
    std::copy(others.at(name).values.begin() + row, others.at(name).values.end(), array.values.begin() + row);
  }
  return first_row_equals(before, predictor.predict(inputs));
}

}  // namespace cortado::server
