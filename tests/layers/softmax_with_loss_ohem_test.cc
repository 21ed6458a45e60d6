#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "tests/harness/softmax_losses.h"

namespace cortado::harness {
namespace {

LayerCase loss_case(const std::string& options, const Shape& shape, const Shape& labels, By by, double ignored = -9,
                    const std::string& type = "SoftmaxWithLossOHEM") {
  return {
      .layer = "type: '" + type + "' top: 'loss' top: 'p' top: 'losses' " + options,
      .x = {random(shape, 1, -3, 3), random_labels(labels, 2, shape[1])},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        const SoftmaxRowsOf rows(x[0], 1);
        Array losses(labels);
        double loss = 0, counted = 0;
        for (int64_t r = 0; r < rows.rows(); ++r) {
          if (x[1][size_t(r)] == ignored) continue;
          losses[size_t(r)] = -std::log(std::max(rows.p(r, int64_t(x[1][size_t(r)])), double(FLT_MIN)));
          loss += losses[size_t(r)];
          ++counted;
        }
        Arrays y = rows.mean(loss, by, counted);
        y.push_back(losses);
        return y;
      },
  };
}

TEST(SoftmaxWithLossOHEM, ReturnsTheLossOfEachRow) {
  check_layer(loss_case("", {6, 10}, {6}, By::kCounted));
  check_layer(loss_case("", {6, 10, 1, 1}, {6, 1, 1, 1}, By::kCounted));
}

TEST(SoftmaxWithLossOHEM, ReturnsTheLossOfEachPositionBeforeTheDivision) {
  check_layer(loss_case("loss_param { ignore_label: 2 }", {2, 5, 3, 4}, {2, 1, 3, 4}, By::kCounted, 2));
  check_layer(
      loss_case("loss_param { normalization: PRE_FIXED pre_fixed_normalizer: 5 }", {2, 5, 3, 4}, {2, 3, 4}, By::kFive));
}

TEST(SoftmaxWithLoss, ReturnsTheLossOfEachRow) {
  check_layer(loss_case("", {6, 10, 1, 1}, {6, 1, 1, 1}, By::kCounted, -9, "SoftmaxWithLoss"));
}

TEST(SoftmaxWithLossOHEM, SupportsOneTop) {
  LayerCase layer = loss_case("", {6, 10}, {6}, By::kCounted);
  const auto all = layer.reference;
  layer.layer = "type: 'SoftmaxWithLossOHEM'";
  layer.reference = [all](const Arrays& x, const Arrays& w) -> Arrays { return {all(x, w)[0]}; };
  check_layer(layer);
}

TEST(SoftmaxWithLossOHEM, ReportsErrors) {
  expect_field_error("type: 'SoftmaxWithLossOHEM'", {{6, 10}, {5}}, "bottom[1]", "it has 5 labels");
}

}  // namespace
}  // namespace cortado::harness
