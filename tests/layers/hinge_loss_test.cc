#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

LayerCase hinge(const std::string& options, const Shape& shape, const Shape& labels, bool squares) {
  return {
      .layer = "type: 'HingeLoss' " + options,
      .x = {keep_away(keep_away(random(shape, 1, -2, 2), 1), -1), random_labels(labels, 2, shape.count(1))},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        double sum = 0;
        const size_t classes = x[0].size() / size_t(shape[0]);
        for (size_t i = 0; i < x[0].size(); ++i) {
          const bool own = double(i % classes) == x[1][i / classes];
          const double margin = std::max(0.0, own ? 1 - x[0][i] : 1 + x[0][i]);
          sum += squares ? margin * margin : margin;
        }
        return {Array(Shape(), sum / double(shape[0]))};
      },
  };
}

TEST(HingeLoss, SumsMargins) {
  check_layer(hinge("", {6, 5}, {6}, false));
  check_layer(hinge("hinge_loss_param { norm: L1 }", {4, 3, 2, 2}, {4, 1, 1, 1}, false));
}

TEST(HingeLoss, OrTheirSquares) { check_layer(hinge("hinge_loss_param { norm: L2 }", {6, 5}, {6}, true)); }

TEST(HingeLoss, KeepsNan) {
  LayerRun run("type: 'HingeLoss'", {Array({1, 2}, {NAN, 0}), Array({1}, {0})});
  run.forward();
  EXPECT_TRUE(std::isnan(run.y()[0][0]));
}

TEST(HingeLoss, IsZeroForNoItems) {
  LayerRun run("type: 'HingeLoss'", {Array({0, 3}), Array({0})});
  run.forward();
  EXPECT_EQ(run.y()[0][0], 0);
}

TEST(HingeLoss, ReportsAnInvalidLabel) {
  const Arrays x = {Array({3, 10}), Array({3}, {0, 9, 10})};
  LayerRun run("type: 'HingeLoss'", x);
  EXPECT_THROW(run.forward(), Error);
  for (const Device& device : tested_devices()) {
    LayerRun on_device("type: 'HingeLoss'", x, {.device = device});
    on_device.forward();
    EXPECT_TRUE(std::isnan(on_device.y()[0][0]));
    try {
      on_device.validate();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find("label 10 of item 2 is not one of the 10 classes"), std::string::npos);
    }
  }
}

TEST(HingeLoss, ReportsErrors) {
  expect_field_error("type: 'HingeLoss'", {{4, 10}, {4, 9}}, "bottom[1]",
                     "there are 36 labels (4x9) for 4 predictions (4x10)");
  expect_field_error("type: 'HingeLoss'", {{}, {}}, "bottom[0]", "0 axes");
}

}  // namespace
}  // namespace cortado::harness
