#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

double dot(const Array& w, int64_t row, const Array& x, int64_t column) {
  const int64_t width = w.shape[1];
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += w[size_t(row * width + i)] * x[size_t(column * width + i)];
  return sum;
}

/// y, and h after the last step.
Arrays rnn(const Arrays& x, const Arrays& w, int64_t units, bool has_static, const Array* h0) {
  const int64_t steps = x[0].shape[0], lanes = x[0].shape[1];
  const size_t first = has_static ? 3 : 2;
  Array y({steps, lanes, units}), h({1, lanes, units});
  if (h0) h = *h0;
  for (int64_t t = 0; t < steps; ++t) {
    Array next = h;
    for (int64_t n = 0; n < lanes; ++n)
      for (int64_t u = 0; u < units; ++u) {
        const double from_static = has_static ? dot(w[2], u, x[2], n) : 0;
        next[size_t(n * units + u)] = std::tanh(dot(w[0], u, x[0], t * lanes + n) + w[1][size_t(u)] + from_static +
                                                x[1][size_t(t * lanes + n)] * dot(w[first], u, h, n));
      }
    h = next;
    for (int64_t n = 0; n < lanes; ++n)
      for (int64_t u = 0; u < units; ++u)
        y[size_t((t * lanes + n) * units + u)] = std::tanh(dot(w[first + 1], u, h, n) + w[first + 2][size_t(u)]);
  }
  return {y, h};
}

std::string layer(const std::string& options, const std::string& more = "") {
  return "type: 'RNN' recurrent_param { " + options + " } " + more;
}

const Array kCont({4, 2}, {1, 1, 1, 0, 0, 1, 1, 1});

TEST(Rnn, IsTheDefinition) {
  check_layer(
      {.layer = layer("num_output: 3"),
       .x = {random({4, 2, 5}, 1), kCont},
       .reference = [](const Arrays& x, const Arrays& w) -> Arrays { return {rnn(x, w, 3, false, nullptr)[0]}; },
       .same_bits_for_any_threads = false});
}

TEST(Rnn, TakesAStaticInput) {
  check_layer({.layer = layer("num_output: 4"),
               .x = {random({4, 2, 3}, 1), kCont, random({2, 6}, 2)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays { return {rnn(x, w, 4, true, nullptr)[0]}; },
               .same_bits_for_any_threads = false});
}

TEST(Rnn, ExposesItsState) {
  check_layer({.layer = layer("num_output: 3 expose_hidden: true", "top: 'y' top: 'h'"),
               .x = {random({4, 2, 3}, 1), kCont, random({1, 2, 3}, 2)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays { return rnn(x, w, 3, false, &x[2]); },
               .same_bits_for_any_threads = false});
}

TEST(Rnn, KeepsItsStateBetweenPasses) {
  const Array x = random({4, 2, 3}, 1);
  LayerRun run(layer("num_output: 3"), {x, kCont});
  run.forward();
  const Arrays first = rnn({x, kCont}, run.w(), 3, false, nullptr);
  expect_near(run.y()[0], first[0], 1e-5, "the first pass");
  run.forward();
  expect_near(run.y()[0], rnn({x, kCont}, run.w(), 3, false, &first[1])[0], 1e-5, "the second pass");
}

TEST(Rnn, KeepsCaffesOrderOfWeights) {
  const MadeLayer made(layer("num_output: 3"), "", {{5, 2, 4}, {5, 2}, {2, 7}});
  const std::vector<Shape> expected = {{3, 4}, {3}, {3, 7}, {3, 3}, {3, 3}, {3}};
  ASSERT_EQ(made.shapes.w.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(made.shapes.w[i].shape, expected[i]);
}

TEST(Rnn, ReportsErrors) {
  expect_field_error(layer(""), {{5, 2, 4}, {5, 2}}, "recurrent_param", "num_output is missing");
  expect_field_error(layer("num_output: 3 expose_hidden: true"), {{5, 2, 4}, {5, 2}, {1, 2, 3}}, "top",
                     "the layer needs 2 tops, not 1");
}

}  // namespace
}  // namespace cortado::harness
