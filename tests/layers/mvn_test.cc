#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Options {
  bool variance = true, across = false;
  double eps = 1e-9;
};

Array normalized(const Array& x, const Options& options) {
  Array y(x.shape);
  const size_t width = size_t(x.shape.count(options.across ? 1 : std::min(2, x.shape.axes())));
  for (size_t first = 0; first < x.size(); first += width) {
    double sum = 0, squares = 0;
    for (size_t i = first; i < first + width; ++i) sum += x[i];
    const double mean = sum / double(width);
    for (size_t i = first; i < first + width; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double divisor = options.variance ? std::sqrt(squares / double(width)) + options.eps : 1;
    for (size_t i = first; i < first + width; ++i) y[i] = (x[i] - mean) / divisor;
  }
  return y;
}

LayerCase mvn(const std::string& text, const Options& options, const Shape& shape = {2, 5, 3, 4}) {
  return {
      .layer = "type: 'MVN' mvn_param { " + text + " }",
      .x = {random(shape, 1, -1, 3)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {normalized(x[0], options)}; },
      .tolerance = 2e-4,
  };
}

TEST(Mvn, NormalizesEachChannelOfEachSample) { check_layer(mvn("", {})); }
TEST(Mvn, NormalizesWholeSamples) { check_layer(mvn("across_channels: true", {.across = true})); }
TEST(Mvn, CentersOnly) { check_layer(mvn("normalize_variance: false", {.variance = false})); }
TEST(Mvn, CentersWholeSamples) {
  check_layer(mvn("normalize_variance: false across_channels: true", {.variance = false, .across = true}));
}
TEST(Mvn, AddsEpsToTheDeviation) { check_layer(mvn("eps: 0.5", {.eps = 0.5})); }
TEST(Mvn, TakesThreeAxes) { check_layer(mvn("", {}, {2, 3, 7})); }
TEST(Mvn, TakesMatricesAcrossChannels) { check_layer(mvn("across_channels: true", {.across = true}, {3, 9})); }

TEST(Mvn, IsZeroForConstants) {
  LayerRun run("type: 'MVN'", {Array({1, 1, 2, 2}, 3.0)});
  run.forward();
  EXPECT_EQ(run.y()[0].values, std::vector<double>(4, 0.0));
}

TEST(Mvn, RejectsScalars) { expect_field_error("type: 'MVN'", {{}}, "bottom[0]", "0 axes"); }

}  // namespace
}  // namespace cortado::harness
