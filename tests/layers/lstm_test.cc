#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// y, h and c after the last step, by the definition, one unit at a time.
Arrays lstm(const Arrays& x, const Arrays& w, int64_t units, bool has_static, const Array* h0, const Array* c0) {
  const int64_t steps = x[0].shape[0], lanes = x[0].shape[1], inputs = x[0].shape.count(2);
  const int64_t statics = has_static ? x[2].shape.count(1) : 0;
  const Array& w_h = w[has_static ? 3 : 2];
  Array y({steps, lanes, units}), h({1, lanes, units}), c({1, lanes, units});
  if (h0) h = *h0;
  if (c0) c = *c0;
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t n = 0; n < lanes; ++n) {
      const double cont = x[1][size_t(t * lanes + n)];
      const auto gate = [&](int64_t k) {
        double sum = w[1][size_t(k)];
        for (int64_t i = 0; i < inputs; ++i)
          sum += w[0][size_t(k * inputs + i)] * x[0][size_t((t * lanes + n) * inputs + i)];
        for (int64_t i = 0; i < statics; ++i) sum += w[2][size_t(k * statics + i)] * x[2][size_t(n * statics + i)];
        for (int64_t i = 0; i < units; ++i) sum += w_h[size_t(k * units + i)] * cont * h[size_t(n * units + i)];
        return sum;
      };
      std::vector<double> next_h, next_c;
      for (int64_t u = 0; u < units; ++u) {
        next_c.push_back(cont * sigmoid(gate(units + u)) * c[size_t(n * units + u)] +
                         sigmoid(gate(u)) * std::tanh(gate(3 * units + u)));
        next_h.push_back(sigmoid(gate(2 * units + u)) * std::tanh(next_c.back()));
      }
      for (int64_t u = 0; u < units; ++u) {
        c[size_t(n * units + u)] = next_c[size_t(u)];
        h[size_t(n * units + u)] = y[size_t((t * lanes + n) * units + u)] = next_h[size_t(u)];
      }
    }
  return {y, h, c};
}

/// Some steps start a sequence, but the first ones continue.
Array goes_on(int64_t steps, int64_t lanes) {
  Array cont({steps, lanes}, 1);
  for (size_t i = size_t(lanes); i < cont.size(); i += 4) cont[i] = 0;
  return cont;
}

std::string layer(const std::string& options, const std::string& more = "") {
  return "type: 'LSTM' recurrent_param { " + options + " } " + more;
}

TEST(Lstm, IsTheDefinition) {
  check_layer({.layer = layer("num_output: 3"),
               .x = {random({5, 2, 4}, 1), goes_on(5, 2)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {lstm(x, w, 3, false, nullptr, nullptr)[0]};
               },
               .same_bits_for_any_threads = false});
}

TEST(Lstm, OneStepOfImages) {
  check_layer({.layer = layer("num_output: 17"),
               .x = {random({1, 3, 2, 3, 2}, 1), Array({1, 3})},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {lstm(x, w, 17, false, nullptr, nullptr)[0]};
               },
               .same_bits_for_any_threads = false});
}

TEST(Lstm, TakesAStaticInput) {
  check_layer({.layer = layer("num_output: 3"),
               .x = {random({4, 2, 5}, 1), goes_on(4, 2), random({2, 3, 2}, 3)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {lstm(x, w, 3, true, nullptr, nullptr)[0]};
               },
               .same_bits_for_any_threads = false});
}

TEST(Lstm, ExposesItsState) {
  const std::string three = "top: 'y' top: 'h' top: 'c'";
  check_layer(
      {.layer = layer("num_output: 3 expose_hidden: true", three),
       .x = {random({4, 2, 5}, 1), goes_on(4, 2), random({1, 2, 3}, 3), random({1, 2, 3}, 4)},
       .reference = [](const Arrays& x, const Arrays& w) -> Arrays { return lstm(x, w, 3, false, &x[2], &x[3]); },
       .same_bits_for_any_threads = false});
  check_layer(
      {.layer = layer("num_output: 2 expose_hidden: true", three),
       .x = {random({3, 2, 5}, 1), Array({3, 2}, 1), random({2, 4}, 2), random({1, 2, 2}, 3), random({1, 2, 2}, 4)},
       .reference = [](const Arrays& x, const Arrays& w) -> Arrays { return lstm(x, w, 2, true, &x[3], &x[4]); },
       .same_bits_for_any_threads = false});
}

TEST(Lstm, KeepsItsStateBetweenPasses) {
  const Array x = random({3, 2, 4}, 1), cont({3, 2}, {1, 0, 1, 1, 1, 1});
  std::vector<Device> devices = tested_devices();
  devices.emplace_back();
  for (const Device& device : devices) {
    LayerRun run(layer("num_output: 3"), {x, cont}, {.device = device});
    run.forward();
    const Arrays first = lstm({x, cont}, run.w(), 3, false, nullptr, nullptr);
    expect_near(run.y()[0], first[0], 1e-5, "the first pass");
    run.forward();
    expect_near(run.y()[0], lstm({x, cont}, run.w(), 3, false, &first[1], &first[2])[0], 1e-5, "the second pass");
  }
}

TEST(Lstm, KeepsCaffesOrderOfWeights) {
  const MadeLayer made(layer("num_output: 3"), "", {{5, 2, 4}, {5, 2}, {2, 7}});
  ASSERT_EQ(made.shapes.w.size(), 4u);
  EXPECT_EQ(made.shapes.w[0].shape, (Shape{12, 4}));
  EXPECT_EQ(made.shapes.w[1].shape, (Shape{12}));
  EXPECT_EQ(made.shapes.w[2].shape, (Shape{12, 7}));
  EXPECT_EQ(made.shapes.w[3].shape, (Shape{12, 3}));
}

TEST(Lstm, ReportsErrors) {
  const std::string good = layer("num_output: 3"), exposed = layer("num_output: 3 expose_hidden: true");
  expect_field_error(layer(""), {{5, 2, 4}, {5, 2}}, "recurrent_param", "num_output is missing");
  expect_field_error(layer("num_output: 0"), {{5, 2, 4}, {5, 2}}, "recurrent_param.num_output", "num_output is 0");
  expect_field_error(good, {{5}, {5, 2}}, "bottom[0]", "its shape is 5, but must be");
  expect_field_error(good, {{0, 2, 4}, {0, 2}}, "bottom[0]", "its shape is 0x2x4");
  expect_field_error(good, {{5, 2, 4}, {2, 5}}, "bottom[1]", "its shape is 2x5, but there are 5 steps of 2 sequences");
  expect_field_error(good, {{5, 2, 4}, {5, 2}, {3, 4}}, "bottom[2]", "its shape is 3x4, but there are 2 sequences");
  expect_field_error(good, {{5, 2, 4}, {5, 2}, {2, 4}, {2, 4}}, "bottom",
                     "without expose_hidden the layer needs 2 bottoms");
  expect_field_error(exposed, {{5, 2, 4}, {5, 2}}, "bottom", "with expose_hidden the layer needs 4 bottoms, or 5");
  expect_field_error(exposed, {{5, 2, 4}, {5, 2}, {1, 2, 3}, {1, 2, 3}}, "top",
                     "with expose_hidden the layer needs 3 tops, not 1");
  expect_field_error(exposed + "top: 'y' top: 'h' top: 'c'", {{5, 2, 4}, {5, 2}, {1, 2, 3}, {1, 2, 4}}, "bottom[3]",
                     "its shape is 1x2x4, but the state is 1x2x3");
  expect_field_error(layer("num_output: 3 bias_filler { type: 'msr' }"), {{5, 2, 4}, {5, 2}},
                     "recurrent_param.bias_filler.type", "filler 'msr' is unknown");
}

// Lstm, which has another order of weights and two layouts of steps.

std::string small(const std::string& options) { return "type: 'Lstm' lstm_param { num_output: 3 " + options + " }"; }

/// x and cont as T x N and T x N x I; y in the requested shape.
Array small_lstm(const Array& x, const Array& cont, const Arrays& w, const Shape& y) {
  Array result = lstm({x, cont}, {w[0], w[2], w[1]}, 3, false, nullptr, nullptr)[0];
  result.shape = y;
  return result;
}

Array begins_once(int64_t steps, int64_t lanes) {
  Array cont({steps, lanes}, 1);
  for (size_t n = 0; n < size_t(lanes); ++n) cont[n] = 0;
  return cont;
}

TEST(Lstm, SmallOneSupportsSeparateAxesOfStepsAndSequences) {
  check_layer({.layer = small(""),
               .x = {random({5, 2, 4}, 1)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {small_lstm(x[0], begins_once(5, 2), w, {5, 2, 3})};
               },
               .same_bits_for_any_threads = false});
}

TEST(Lstm, SmallOneSupportsACommonAxis) {
  check_layer({.layer = small("batch_size: 2"),
               .x = {random({10, 2, 2}, 1)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {small_lstm(Array({5, 2, 4}, x[0].values), begins_once(5, 2), w, {10, 3})};
               },
               .same_bits_for_any_threads = false});
  check_layer({.layer = small(""),
               .x = {random({6, 4}, 1)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {small_lstm(Array({6, 1, 4}, x[0].values), begins_once(6, 1), w, {6, 3})};
               },
               .same_bits_for_any_threads = false});
}

TEST(Lstm, SmallOneSupportsClip) {
  check_layer({.layer = small("batch_size: 2"),
               .x = {random({10, 4}, 1), Array({10}, goes_on(5, 2).values)},
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 return {small_lstm(Array({5, 2, 4}, x[0].values), goes_on(5, 2), w, {10, 3})};
               },
               .same_bits_for_any_threads = false});
}

TEST(Lstm, SmallOneKeepsItsStateOnlyWithClip) {
  const Array x = random({3, 4}, 1), cont({3, 1}, {1, 0, 1});
  LayerRun clipped(small(""), {x, cont}), alone(small(""), {x});
  const Arrays w = {clipped.w()[0], clipped.w()[2], clipped.w()[1]};
  const Array sequence({3, 1, 4}, x.values);
  const Arrays first = lstm({sequence, cont}, w, 3, false, nullptr, nullptr);
  clipped.forward();
  clipped.forward();
  const Arrays second = lstm({sequence, cont}, w, 3, false, &first[1], &first[2]);
  expect_near(clipped.y()[0], Array({3, 3}, second[0].values), 1e-5, "the second pass");
  alone.forward();
  const Array once = alone.y()[0];
  alone.forward();
  EXPECT_EQ(alone.y()[0].values, once.values);
}

struct Gradients {
  Array x, w_x, w_h, b;
};

/// Backward through time of one sequence by hand, with a limit on the gradient of each pre-activation.
Gradients bounded_gradients(const Array& x, const Arrays& w, const Array& dy, double limit) {
  const size_t steps = size_t(x.shape[0]), inputs = size_t(x.shape[1]), units = 3, wide = 12;
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  std::vector<std::vector<double>> gates(steps, std::vector<double>(wide)), h(steps + 1, std::vector<double>(units)),
      c(h);
  for (size_t t = 0; t < steps; ++t) {
    for (size_t k = 0; k < wide; ++k) {
      double sum = w[2][k];
      for (size_t i = 0; i < inputs; ++i) sum += w[0][k * inputs + i] * x[t * inputs + i];
      for (size_t u = 0; u < units; ++u) sum += w[1][k * units + u] * h[t][u];
      gates[t][k] = k < 3 * units ? sigmoid(sum) : std::tanh(sum);
    }
    for (size_t u = 0; u < units; ++u) {
      c[t + 1][u] = gates[t][units + u] * c[t][u] + gates[t][u] * gates[t][3 * units + u];
      h[t + 1][u] = gates[t][2 * units + u] * std::tanh(c[t + 1][u]);
    }
  }
  Gradients g{Array(x.shape), Array(w[0].shape), Array(w[1].shape), Array(w[2].shape)};
  std::vector<double> dh(units), dc(units);
  for (size_t t = steps; t-- > 0;) {
    std::vector<double> da(wide), dh_before(units);
    for (size_t u = 0; u < units; ++u) {
      const double i = gates[t][u], f = gates[t][units + u], o = gates[t][2 * units + u], a = gates[t][3 * units + u];
      const double tanh_c = std::tanh(c[t + 1][u]), d = dy[t * units + u] + dh[u];
      const double of_c = dc[u] + d * o * (1 - tanh_c * tanh_c);
      da[u] = of_c * a * i * (1 - i);
      da[units + u] = of_c * c[t][u] * f * (1 - f);
      da[2 * units + u] = d * tanh_c * o * (1 - o);
      da[3 * units + u] = of_c * i * (1 - a * a);
      dc[u] = of_c * f;
    }
    for (size_t k = 0; k < wide; ++k) {
      da[k] = std::clamp(da[k], -limit, limit);
      g.b[k] += da[k];
      for (size_t i = 0; i < inputs; ++i) g.w_x[k * inputs + i] += da[k] * x[t * inputs + i];
      for (size_t i = 0; i < inputs; ++i) g.x[t * inputs + i] += da[k] * w[0][k * inputs + i];
      for (size_t u = 0; u < units; ++u) g.w_h[k * units + u] += da[k] * h[t][u];
      for (size_t u = 0; u < units; ++u) dh_before[u] += da[k] * w[1][k * units + u];
    }
    dh = dh_before;
  }
  return g;
}

TEST(Lstm, SmallOneClipsGradientsOfSteps) {
  const Array x = random({7, 4}, 1), dy = random({7, 3}, 2);
  for (const double limit : {0.02, 0.1, 100.0}) {
    LayerRun run(small("clipping_threshold: " + std::to_string(limit)), {x});
    run.forward();
    run.backward({dy});
    const Gradients expected = bounded_gradients(x, run.w(), dy, limit);
    expect_near(run.dx(0), expected.x, 1e-5, "dx");
    expect_near(run.dw(0), expected.w_x, 1e-5, "dW_x");
    expect_near(run.dw(1), expected.w_h, 1e-5, "dW_h");
    expect_near(run.dw(2), expected.b, 1e-5, "db");
  }
}

TEST(Lstm, SmallOneKeepsItsOrderOfWeights) {
  const MadeLayer made(small(""), "", {{5, 2, 4}});
  ASSERT_EQ(made.shapes.w.size(), 3u);
  EXPECT_EQ(made.shapes.w[0].shape, (Shape{12, 4}));
  EXPECT_EQ(made.shapes.w[1].shape, (Shape{12, 3}));
  EXPECT_EQ(made.shapes.w[2].shape, (Shape{12}));
}

TEST(Lstm, SmallOneReportsErrors) {
  expect_field_error("type: 'Lstm'", {{5, 4}}, "lstm_param", "num_output is missing");
  expect_field_error("type: 'Lstm' lstm_param { num_output: 0 }", {{5, 4}}, "lstm_param.num_output", "num_output is 0");
  expect_field_error(small("clipping_threshold: -1"), {{5, 4}}, "lstm_param.clipping_threshold", "not be negative");
  expect_field_error(small("batch_size: 0"), {{5, 4}}, "lstm_param.batch_size", "batch_size is 0");
  expect_field_error(small("batch_size: 2"), {{5, 4}}, "bottom[0]", "its shape is 5x4; steps of 2 sequences");
  expect_field_error(small(""), {{0, 4}}, "bottom[0]", "has no steps");
  expect_field_error(small(""), {{5, 2, 4}, {5}}, "bottom[1]", "its shape is 5, but there are 5 steps of 2 sequences");
  expect_field_error(small("weight_filler { type: 'msr' }"), {{5, 4}}, "lstm_param.weight_filler.type",
                     "filler 'msr' is unknown");
}

}  // namespace
}  // namespace cortado::harness
