#include <gtest/gtest.h>

#include <cmath>

#include "layers/roles.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

std::string layer(const std::string& options, const std::string& tops = "top: 'a' top: 'b'") {
  return "type: 'ScaleRoute' bottom: 'rois' bottom: 'labels' " + tops + " scale_route_param { " + options + " }";
}

/// Regions of 10 x 10, 20 x 5, 40 x 40 and 30 x 30 pixels, an inverted one, and one with a NaN.
const Array kSizes({6, 5},
                   {0, 0, 0, 9, 9, 0, 5, 5, 24, 9, 1, 10, 10, 49, 49, 1, 0, 0, 29, 29, 0, 9, 9, 4, 4, 0, NAN, 0, 9, 9});
const Array kNumbers({6, 2}, {0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5});

/// The selected rows, which must be the same in both tops.
std::vector<double> selected(const std::string& options, const Array& regions = kSizes) {
  LayerRun run(layer(options), {regions, kNumbers});
  run.forward();
  const std::vector<Shape> shapes = dynamic_cast<DynamicRows&>(run.layer()).current_shapes();
  const size_t live = size_t(shapes[0][0]);
  EXPECT_EQ(shapes[1], (Shape{int64_t(live), 2}));
  std::vector<double> rows;
  for (size_t r = 0; r < 6; ++r) {
    const double row = run.y()[1][2 * r];
    if (r < live) rows.push_back(row);
    EXPECT_EQ(run.y()[1][2 * r + 1], r < live ? row + 0.5 : 0);
    for (size_t i = 0; i < 5; ++i) {
      const double expected = r < live ? regions[5 * size_t(row) + i] : 0;
      EXPECT_TRUE(std::isnan(expected) || run.y()[0][5 * r + i] == expected) << r << " " << i;
    }
  }
  return rows;
}

TEST(ScaleRoute, SelectsRegionsByTheRootOfTheirArea) {
  EXPECT_EQ(selected("high_scale: 11"), (std::vector<double>{0, 1, 4}));
  EXPECT_EQ(selected("low_scale: 10 high_scale: 30"), (std::vector<double>{0, 1}));
  EXPECT_EQ(selected("low_scale: 30"), (std::vector<double>{2, 3}));
  EXPECT_EQ(selected(""), (std::vector<double>{0, 1, 2, 3, 4}));
}

TEST(ScaleRoute, SelectsTheNearestIfNoneFits) {
  EXPECT_EQ(selected("low_scale: 300"), (std::vector<double>{2}));
  EXPECT_EQ(selected("low_scale: 18 high_scale: 22"), (std::vector<double>{3}));  // 30 / 19.9 < 19.9 / 10
  EXPECT_EQ(selected("low_scale: 15 high_scale: 16"), (std::vector<double>{0}));  // the first of equals
  EXPECT_EQ(selected("low_scale: 5", Array({6, 5}, NAN)), (std::vector<double>{0}));
}

TEST(ScaleRoute, ReportsErrors) {
  const std::vector<Shape> x = {{6, 5}, {6, 2}};
  expect_field_error(layer("low_scale: 0"), x, "scale_route_param.low_scale", "0, but must be above 0");
  expect_field_error(layer("low_scale: 9 high_scale: 8"), x, "scale_route_param.high_scale", "not below low_scale");
  expect_field_error(layer("high_scale: inf"), x, "scale_route_param.high_scale", "inf");
  expect_field_error(layer(""), {{6, 6}, {6, 2}}, "bottom[0]", "R x 5");
  expect_field_error(layer(""), {{6, 5}, {5, 2}}, "bottom[1]", "there are 6 regions");
  expect_field_error(layer("", "top: 'a'"), x, "top", "2 bottoms and 1 top");
}

}  // namespace
}  // namespace cortado::harness
