#include "server/models/row_probe.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace cortado::server {

namespace {

using Clock = std::chrono::steady_clock;

/// kPause separates single requests. Nets above kSmall are always faster with more threads.
constexpr std::chrono::milliseconds kPause(1), kSmall(3);

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

/// The median latency of single requests, with pauses in which threads go to sleep.
Clock::duration time_alone(Predictor& predictor, const Arrays& inputs) {
  constexpr size_t kRuns = 11;
  std::vector<Clock::duration> times;
  predictor.predict(inputs);
  for (size_t i = 0; i < kRuns; ++i) {
    std::this_thread::sleep_for(kPause);
    const Clock::time_point start = Clock::now();
    predictor.predict(inputs);
    times.push_back(Clock::now() - start);
  }
  std::ranges::nth_element(times, times.begin() + kRuns / 2);
  return times[kRuns / 2];
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

void prepare_at_best(Predictor& predictor, const std::map<std::string, Shape>& shapes, int contexts) {
  const Arrays inputs = drawn_inputs(shapes, 1);
  predictor.prepare(shapes, contexts);
  predictor.predict(inputs);
  const Clock::time_point start = Clock::now();
  predictor.predict(inputs);
  if (predictor.threads() == 1 || Clock::now() - start > kSmall) return;
  const Clock::duration by_all = time_alone(predictor, inputs);
  predictor.prepare(shapes, contexts, 1);
  if (time_alone(predictor, inputs) >= by_all) predictor.prepare(shapes, contexts);
}

double least_seconds(Predictor& predictor, const std::map<std::string, Shape>& shapes) {
  constexpr int kRuns = 5;
  constexpr std::chrono::milliseconds kEnough(300);
  const Arrays inputs = drawn_inputs(shapes, 1);
  Clock::duration least = Clock::duration::max();
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < kRuns && Clock::now() - begin < kEnough; ++i) {
    const Clock::time_point start = Clock::now();
    predictor.predict(inputs);
    least = std::min(least, Clock::now() - start);
  }
  return std::chrono::duration<double>(least).count();
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
