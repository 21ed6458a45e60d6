#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

using Steps = std::vector<std::array<int64_t, 3>>;

/// The definition: the strongest of all paths between each pair of vertices of one image, by Floyd's algorithm.
double pairs_loss(const std::vector<double>& affinities, const std::vector<int64_t>& segments,
                  const std::array<int64_t, 3>& extents, const Steps& steps, bool same) {
  const size_t n = segments.size();
  std::vector<double> best(n * n, -INFINITY);
  for (size_t e = 0; e < steps.size(); ++e)
    for (size_t v = 0; v < n; ++v) {
      const int64_t at[3] = {int64_t(v) / extents[2] / extents[1], int64_t(v) / extents[2] % extents[1],
                             int64_t(v) % extents[2]};
      int64_t to = 0;
      bool inside = true;
      for (size_t a = 0; a < 3; ++a) {
        const int64_t place = at[a] + steps[e][a];
        inside = inside && place >= 0 && place < extents[a];
        to = to * extents[a] + place;
      }
      if (!inside) continue;
      best[v * n + size_t(to)] = std::max(best[v * n + size_t(to)], affinities[e * n + v]);
      best[size_t(to) * n + v] = best[v * n + size_t(to)];
    }
  for (size_t k = 0; k < n; ++k)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        best[i * n + j] = std::max(best[i * n + j], std::min(best[i * n + k], best[k * n + j]));
  double sum = 0, count = 0;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = i + 1; j < n; ++j) {
      if (segments[i] == 0 || segments[j] == 0 || (segments[i] == segments[j]) != same) continue;
      ++count;
      if (std::isfinite(best[i * n + j])) sum += std::pow(best[i * n + j] - (same ? 1 : 0), 2);
    }
  return count > 0 ? sum / count : 0;
}

Arrays malis(const Arrays& x, const Steps& steps) {
  const Shape& shape = x[0].shape;
  const int axes = shape.axes();
  const std::array<int64_t, 3> extents = {axes > 4 ? shape[2] : 1, axes > 3 ? shape[axes - 2] : 1, shape[axes - 1]};
  const size_t n = size_t(shape.count(2)), of_image = size_t(shape.count(1));
  double sum = 0;
  for (size_t image = 0; image < size_t(shape[0]); ++image) {
    std::vector<double> lower(of_image), upper(of_image);
    for (size_t i = 0; i < of_image; ++i) {
      const double a = x[0][image * of_image + i], b = x[1][image * of_image + i];
      lower[i] = std::min(a, b), upper[i] = std::max(a, b);
    }
    std::vector<int64_t> segments;
    for (size_t v = 0; v < n; ++v) segments.push_back(int64_t(x[2][image * n + v]));
    sum += pairs_loss(lower, segments, extents, steps, true) + pairs_loss(upper, segments, extents, steps, false);
  }
  return {Array({}, {sum / 2 / double(shape[0])})};
}

/// Predictions between the true affinities 0 and 1, or true ones in between if `soft`.
Arrays operands(const Shape& shape, bool soft) {
  Array x = distinct(shape, 3, 0.001), truth = distinct(shape, 4, 0.001);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 0.5 + x[i] * 0.3;
    truth[i] = soft ? 0.5005 + truth[i] * 0.3 : double(i * 7 % 3 > 0);
  }
  Shape segments = shape;
  segments[1] = 1;
  return {x, truth, random_labels(segments, 5, 4)};
}

LayerCase malis_case(const Shape& shape, bool soft, const Steps& steps, bool given) {
  LayerCase c{.layer = "type: 'MalisLoss'",
              .x = operands(shape, soft),
              .reference = [steps](const Arrays& x, const Arrays&) { return malis(x, steps); }};
  if (!given) return c;
  Array list({1, 1, int64_t(steps.size()), 3});
  for (size_t i = 0; i < list.size(); ++i) list[i] = double(steps[i / 3][i % 3]);
  c.x.push_back(list);
  return c;
}

TEST(MalisLoss, IsTheLossOfAllPairs) {
  check_layer(malis_case({2, 2, 3, 4}, false, {{0, 1, 0}, {0, 0, 1}}, false));
  check_layer(malis_case({1, 2, 4, 3}, true, {{0, 1, 0}, {0, 0, 1}}, false));
  check_layer(malis_case({1, 3, 2, 2, 3}, true, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, false));
  check_layer(malis_case({2, 1, 6}, true, {{0, 0, 1}}, false));
}

TEST(MalisLoss, FollowsTheGivenEdges) {
  check_layer(malis_case({1, 4, 2, 2, 3}, true, {{1, 0, 0}, {0, -1, 0}, {0, 0, 1}, {-1, 1, 2}}, true));
  check_layer(malis_case({1, 1, 3, 3}, true, {{0, 0, 2}}, true));  // some pairs have no path
}

TEST(MalisLoss, AcceptsEqualAffinities) {
  Arrays x = {Array({1, 2, 3, 3}, 0.25), Array({1, 2, 3, 3}, 1.0), random_labels({1, 1, 3, 3}, 5, 3)};
  LayerRun run("type: 'MalisLoss'", x);
  run.forward();
  EXPECT_NEAR(run.y()[0][0], malis(x, {{0, 1, 0}, {0, 0, 1}})[0][0], 1e-6);
  x[2] = Array({1, 1, 3, 3}, 0.0);  // no segments
  LayerRun none("type: 'MalisLoss'", x);
  none.forward();
  EXPECT_EQ(none.y()[0][0], 0);
}

TEST(MalisLoss, IsNanForInvalidValues) {
  const Array steps({2, 3}, {0, 1, 0, 0, 0, 1});
  for (size_t i = 0; i < 4; ++i) {
    Arrays x = operands({1, 2, 3, 3}, true);
    x.push_back(steps);
    x[i][1] = i < 2 ? NAN : i == 2 ? 1e10 : double(INFINITY);
    for (const Device& device : tested_devices()) {
      LayerRun run("type: 'MalisLoss'", x, {.device = device});
      if (i >= 2) {
        EXPECT_THROW(run.validate(), Error) << i;
      }
      run.forward();
      EXPECT_TRUE(std::isnan(run.y()[0][0])) << i;
    }
  }
}

TEST(MalisLoss, ReportsErrors) {
  const std::string layer = "type: 'MalisLoss'";
  const Shape a = {1, 2, 4, 4}, segments = {1, 1, 4, 4};
  expect_field_error(layer, {{1, 2}, {1, 2}, {1, 1}}, "bottom[0]", "its shape is 1x2");
  expect_field_error(layer, {a, {1, 2, 4, 5}, segments}, "bottom[1]", "1x2x4x5, but bottom[0] has 1x2x4x4");
  expect_field_error(layer, {a, a, a}, "bottom[2]", "1x2x4x4");
  expect_field_error(layer, {a, a, segments, {3, 3}}, "bottom[3]", "3 numbers for each of 2 edges");
  expect_field_error(layer, {{1, 4, 4, 4}, {1, 4, 4, 4}, segments}, "bottom[0]", "4 edges for each vertex");
}

}  // namespace
}  // namespace cortado::harness
