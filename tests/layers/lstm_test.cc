#include <gtest/gtest.h>

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

/// Sequences begin here and there, but the first steps go on.
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

TEST(Lstm, GoesOnWhereTheLastPassEnded) {
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

TEST(Lstm, ExplainsWhatIsWrong) {
  const std::string good = layer("num_output: 3"), exposed = layer("num_output: 3 expose_hidden: true");
  expect_field_error(layer(""), {{5, 2, 4}, {5, 2}}, "recurrent_param", "num_output is missing");
  expect_field_error(layer("num_output: 0"), {{5, 2, 4}, {5, 2}}, "recurrent_param.num_output", "num_output is 0");
  expect_field_error(good, {{5}, {5, 2}}, "bottom[0]", "its shape is 5; sequences are");
  expect_field_error(good, {{0, 2, 4}, {0, 2}}, "bottom[0]", "its shape is 0x2x4");
  expect_field_error(good, {{5, 2, 4}, {2, 5}}, "bottom[1]", "its shape is 2x5, but there are 5 steps of 2 sequences");
  expect_field_error(good, {{5, 2, 4}, {5, 2}, {3, 4}}, "bottom[2]", "its shape is 3x4, but there are 2 sequences");
  expect_field_error(good, {{5, 2, 4}, {5, 2}, {2, 4}, {2, 4}}, "bottom", "without expose_hidden there are 2 bottoms");
  expect_field_error(exposed, {{5, 2, 4}, {5, 2}}, "bottom", "with expose_hidden there are 4 bottoms, or 5");
  expect_field_error(exposed, {{5, 2, 4}, {5, 2}, {1, 2, 3}, {1, 2, 3}}, "top",
                     "with expose_hidden there are 3 tops, not 1");
  expect_field_error(exposed + "top: 'y' top: 'h' top: 'c'", {{5, 2, 4}, {5, 2}, {1, 2, 3}, {1, 2, 4}}, "bottom[3]",
                     "its shape is 1x2x4, but the state is 1x2x3");
  expect_field_error(layer("num_output: 3 bias_filler { type: 'msr' }"), {{5, 2, 4}, {5, 2}},
                     "recurrent_param.bias_filler.type", "there is no filler 'msr'");
}

}  // namespace
}  // namespace cortado::harness
