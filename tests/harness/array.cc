#include "tests/harness/array.h"

#include <cmath>

#include "core/rng.h"

namespace cortado::harness {

std::vector<Shape> shapes_of(const Arrays& arrays) {
  std::vector<Shape> shapes;
  for (const Array& array : arrays) shapes.push_back(array.shape);
  return shapes;
}

Array random(const Shape& shape, uint64_t key, double low, double high) {
  RandomStream stream(mix_key(key, 0x7e57));
  Array array(shape);
  for (double& value : array.values) value = float(low + (high - low) * double(stream.uniform()));
  return array;
}

Array keep_away(Array array, double kink, double margin) {
  for (double& value : array.values)
    if (std::fabs(value - kink) < margin) value = float(value < kink ? value - margin : value + margin);
  return array;
}

Array distinct(const Shape& shape, uint64_t key, double step) {
  RandomStream stream(mix_key(key, 0xd157));
  Array array(shape);
  const size_t n = array.size();
  for (size_t i = 0; i < n; ++i) array[i] = float((double(i) - double(n) / 2) * step);
  for (size_t i = n; i > 1; --i) std::swap(array[i - 1], array[size_t(stream.below(i))]);
  return array;
}

Array random_labels(const Shape& shape, uint64_t key, int64_t classes) {
  RandomStream stream(mix_key(key, 0x1abe1));
  Array array(shape);
  for (double& value : array.values) value = double(stream.below(uint64_t(classes)));
  return array;
}

Array softmax(const Array& x, int axis) {
  const int64_t outer = x.shape.count(0, axis), classes = x.shape[axis], inner = x.shape.count(axis + 1);
  Array y(x.shape);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t s = 0; s < inner; ++s) {
      double sum = 0;
      const auto at = [&](int64_t c) { return size_t((o * classes + c) * inner + s); };
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[at(c)]);
      for (int64_t c = 0; c < classes; ++c) y[at(c)] = std::exp(x[at(c)]) / sum;
    }
  return y;
}

Array map(const Array& x, const std::function<double(double)>& function) {
  Array y(x.shape);
  for (size_t i = 0; i < x.size(); ++i) y[i] = function(x[i]);
  return y;
}

}  // namespace cortado::harness
