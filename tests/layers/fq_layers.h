#pragma once

// What caffe-FQ's layers have in common: in forward and backward they are the layer they wrap, with rounded weights.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/harness/fixed_point.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {

struct FixedPointLayer {
  std::string plain, options;  ///< the wrapped type, and options with 20 outputs
  Shape x, weight_shape;

  std::string text() const { return "type: 'FQ" + plain + "'" + options; }
  Array weights() const { return random(weight_shape, 1, -0.7, 0.5); }
  Array bias() const { return random({20}, 2); }
  Array levels() const { return Array({4}, {16, 0, 0, 0}); }
  FixedPointRule rule() const { return fixed_point_rule(weights(), 16); }

  void expect_rounded(const RunOptions& run_options, const Array& levels, const FixedPointRule& rule) const {
    const Array values = random(x, 3);
    LayerRun run(text(), {values}, run_options, {weights(), bias(), levels});
    LayerRun reference("type: '" + plain + "'" + options, {values}, run_options, {rounded(weights(), rule), bias()});
    for (LayerRun* each : {&run, &reference}) each->forward();
    expect_near(run.y()[0], reference.y()[0], 1e-4, "y");
    expect_near(run.stored_w(0), weights(), 1e-6, "weights");
    if (!run_options.backward) return;
    const Array dy = random(run.y()[0].shape, 4);
    for (LayerRun* each : {&run, &reference}) each->backward({dy});
    expect_near(run.dx(0), reference.dx(0), 1e-4, "dx");
    for (size_t i = 0; i < 2; ++i) expect_near(run.dw(i), reference.dw(i), 1e-4, "dw");
  }

  void expect_rounded_on_all_devices() const {
    std::vector<Device> devices = tested_devices();
    devices.push_back({});
    for (const Device& device : devices) {
      expect_rounded({.device = device}, levels(), rule());
      expect_rounded({.device = device, .add_dw = true}, levels(), rule());
    }
  }

  void expect_tests_use_what_is_stored() const {
    expect_rounded({.phase = caffe::TEST, .backward = false}, Array({4}, {16, 0.25, -2, 1}), {0.25, -2, 1});
    expect_rounded({.phase = caffe::TEST, .backward = false}, levels(), rule());
  }

  void expect_stores_levels() const {
    LayerRun run(text(), {random(x, 3)}, {}, {weights(), bias(), levels()});
    run.forward();
    expect_near(run.stored_w(2), Array({4}, {16, rule().step, rule().low, rule().high}), 1e-6, "levels");
  }

  void expect_levels_are_not_learned() const {
    const MadeLayer made(text(), "", {x});
    ASSERT_EQ(made.shapes.w.size(), 3u);
    EXPECT_FALSE(made.shapes.w[2].learned);
  }
};

/// For check_layer(): a layer of three inputs and 20 outputs at each position. The weights are such that rounding does
/// not change them, where the slope of rounding is 1.
inline LayerCase case_of_rounded_weights(const std::string& layer, const Shape& x, const Shape& weights) {
  return {.layer = layer,
          .x = {random(x, 6)},
          .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
            const int64_t pixels = x[0].shape.count(2), images = x[0].shape[0];
            std::vector<int64_t> dims = x[0].shape.dims();
            dims[1] = 20;
            Array y{Shape(dims)};
            for (int64_t i = 0; i < images * 20 * pixels; ++i) {
              const int64_t n = i / pixels / 20, k = i / pixels % 20, p = i % pixels;
              y[size_t(i)] = w[1][size_t(k)];
              for (int64_t c = 0; c < 3; ++c)
                y[size_t(i)] += w[0][size_t(3 * k + c)] * x[0][size_t((3 * n + c) * pixels + p)];
            }
            return {y};
          },
          .w = {map(random(weights, 5), [](double v) { return std::round(8 * v) / 8; }), random({20}, 7),
                Array({4}, {256, 0, 0, 0})}};
}

}  // namespace cortado::harness
