#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'BatchReindex'";

LayerCase reindex(const Shape& shape, const std::vector<double>& indices) {
  return {
      .layer = kLayer,
      .x = {random(shape, 1), Array({int64_t(indices.size())}, indices)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        Shape shape = x[0].shape;
        shape[0] = x[1].shape[0];
        Array y(shape);
        const size_t width = size_t(shape.count(1));
        for (size_t i = 0; i < y.size(); ++i) y[i] = x[0][size_t(x[1][i / width]) * width + i % width];
        return {y};
      },
  };
}

TEST(BatchReindex, SelectsSamples) { check_layer(reindex({4, 3, 2, 2}, {2, 0})); }
TEST(BatchReindex, SumsTheGradientsOfRepeatedSamples) { check_layer(reindex({3, 5}, {1, 1, 0, 1, 2, 0})); }
TEST(BatchReindex, SelectsNumbers) { check_layer(reindex({4}, {3, 3, 1})); }
TEST(BatchReindex, SelectsNothing) { check_layer(reindex({4, 2}, {})); }

TEST(BatchReindex, UnselectedSamplesHaveZeroGradient) {
  LayerRun run(kLayer, {random({3, 2}, 1), Array({1}, 1.0)});
  run.forward();
  run.backward({Array({1, 2}, 5.0)});
  EXPECT_EQ(run.dx(0).values, (std::vector<double>{0, 0, 5, 5, 0, 0}));
}

TEST(BatchReindex, RejectsInvalidIndices) {
  for (const double index : {3.0, -1.0, 1e30, double(NAN)}) {
    LayerRun run(kLayer, {random({3, 2}, 1), Array({2}, {0, index})});
    try {
      run.forward();
      ADD_FAILURE() << index;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(error.mistakes()[0].message.find("at place 1 is not one of the 3 rows of bottom[0]"), std::string::npos)
          << error.what();
    }
  }
}

TEST(BatchReindex, InvalidIndicesYieldNanOnDevices) {
  for (const Device& device : tested_devices()) {
    LayerRun run(kLayer, {random({3, 2}, 1), Array({2}, {0, 3})}, {.device = device});
    run.forward();
    EXPECT_FALSE(std::isnan(run.y()[0][1]));
    EXPECT_TRUE(std::isnan(run.y()[0][2]) && std::isnan(run.y()[0][3]));
    EXPECT_THROW(run.validate(), Error);
    run.backward({Array({2, 2}, 1.0)});
    EXPECT_EQ(run.dx(0).values, (std::vector<double>{1, 1, 0, 0, 0, 0}));
  }
}

TEST(BatchReindex, RejectsMismatchedShapes) {
  expect_field_error(kLayer, {{3, 2}, {2, 1}}, "bottom[1]", "2x1, but indices must have one axis");
  expect_field_error(kLayer, {{}, {2}}, "bottom[0]", "0 axes");
}

}  // namespace
}  // namespace cortado::harness
