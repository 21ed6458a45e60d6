#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/fixed_point.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::vector<Device> devices() {
  std::vector<Device> list = tested_devices();
  list.push_back({});
  return list;
}

const Array kEmpty({4}, {16, 0, 0, 0});

/// Values that rounding does not change, where the slope of q is 1.
Array unchanged(const Shape& shape) {
  return map(random(shape, 5), [](double v) { return std::round(8 * v) / 8; });
}

TEST(FQActive, PassesGradientsOn) {
  check_layer({.layer = "type: 'FQActive'",
               .x = {unchanged({4, 20})},
               .reference = [](const Arrays& x, const Arrays&) -> Arrays { return {x[0]}; },
               .w = {Array({4}, {256, 0, 0, 0})}});
}

TEST(FQActive, RoundsToTheLevelsOfTheBatch) {
  for (const Device& device : devices())
    for (const double levels : {2.0, 3.0, 16.0, 255.0})
      for (const double least : {-1.3, 0.0, 0.2}) {
        const Array x = random({4, 1300}, 1, least, 2.9);
        const FixedPointRule rule = fixed_point_rule(x, levels);
        LayerRun run("type: 'FQActive'", {x}, {.device = device}, {Array({4}, {levels, 0, 0, 0})});
        run.forward();
        expect_near(run.y()[0], rounded(x, rule), 1e-6, "y");
        expect_near(run.stored_w(0), Array({4}, {levels, rule.step, rule.low, rule.high}), 1e-6, "levels");
        const Array dy = random(x.shape, 2);
        run.backward({dy});
        expect_near(run.dx(0), dy, 1e-6, "dx");
      }
}

TEST(FQActive, WorksInPlace) {
  const Array x = random({4, 6}, 1, -1, 1);
  LayerRun run("type: 'FQActive'", {x}, {.in_place = true}, {kEmpty});
  run.forward();
  expect_near(run.y()[0], rounded(x, fixed_point_rule(x, 16)), 1e-6, "y");
}

TEST(FQActive, PowersOfTwoAreSteps) {
  const Array x({3}, {-4, 0.25, 3.5});  // -4 / -8 = 3.5 / 7 = 0.5
  LayerRun run("type: 'FQActive'", {x}, {}, {kEmpty});
  run.forward();
  expect_near(run.stored_w(0), Array({4}, {16, 0.5, -8, 7}), 0, "levels");
}

TEST(FQActive, StoresTheLargestStep) {
  const Array x({2}, {-0.5, 0.5});
  LayerRun run("type: 'FQActive'", {x}, {}, {Array({4}, {16, 4, -2, 1})});
  run.forward();
  const FixedPointRule rule = fixed_point_rule(x, 16);
  expect_near(run.y()[0], rounded(x, rule), 1e-6, "y");
  expect_near(run.stored_w(0), Array({4}, {16, 4, rule.low, rule.high}), 0, "levels");
}

TEST(FQActive, TestsUseWhatIsStored) {
  const Array x({4}, {-9, -0.6, 0.3, 9});
  LayerRun stored("type: 'FQActive'", {x}, {.phase = caffe::TEST}, {Array({4}, {16, 0.5, -2, 1})});
  stored.forward();
  expect_near(stored.y()[0], Array({4}, {-1, -0.5, 0.5, 0.5}), 1e-6, "y");
  LayerRun fresh("type: 'FQActive'", {x}, {.phase = caffe::TEST}, {kEmpty});
  fresh.forward();
  expect_near(fresh.y()[0], rounded(x, fixed_point_rule(x, 16)), 1e-6, "y");
  expect_near(fresh.stored_w(0), kEmpty, 0, "levels");
}

TEST(FQActive, SurvivesValuesThatHaveNoLevels) {
  LayerRun zeros("type: 'FQActive'", {Array({3}, 0.0)}, {}, {kEmpty});
  zeros.forward();
  expect_near(zeros.y()[0], Array({3}, 0.0), 0, "y");
  LayerRun invalid("type: 'FQActive'", {Array({3}, {double(NAN), 1, -1})}, {}, {Array({4}, {double(NAN), 0, 0, 0})});
  invalid.forward();
  EXPECT_TRUE(std::isnan(invalid.y()[0][0]));
}

}  // namespace
}  // namespace cortado::harness
