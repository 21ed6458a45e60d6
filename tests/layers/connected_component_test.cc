#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

Array components(const Array& x) {
  LayerRun run("type: 'ConnectedComponent'", {x}, {.backward = false});
  run.forward();
  return run.y()[0];
}

TEST(ConnectedComponent, NumbersComponentsInOrder) {
  const Array x({1, 2, 3, 4}, {1, 1, 0, 2,  //
                               0, 1, 0, 2,  //
                               2, 0, 1, 1,  //
                               0, 0, 0, 0,  //
                               0, 7, 7, 0,  //
                               0, 0, 0, 7});
  const Array y = components(x);
  EXPECT_EQ(y.values, (std::vector<double>{3, 3, 0, 4,  //
                                           0, 3, 0, 4,  //
                                           5, 0, 6, 6,  //
                                           0, 0, 0, 0,  //
                                           0, 8, 8, 0,  //
                                           0, 0, 0, 9}));
}

/// Repeats until nothing changes: a pixel takes the smallest number of its neighbours of the same label.
TEST(ConnectedComponent, AgreesWithSpreadingNumbers) {
  const Array x = random_labels({1, 1, 17, 13}, 3, 5), y = components(x);
  std::vector<size_t> root(x.size());
  for (size_t i = 0; i < root.size(); ++i) root[i] = i;
  for (bool changes = true; changes;) {
    changes = false;
    const auto join = [&](size_t a, size_t b) {
      if (x[a] != x[b] || root[a] == root[b]) return;
      root[a] = root[b] = std::min(root[a], root[b]);
      changes = true;
    };
    for (size_t i = 0; i < root.size(); ++i) {
      if (i % 13 != 12) join(i, i + 1);
      if (i + 13 < root.size()) join(i, i + 13);
    }
  }
  std::map<size_t, double> numbers;
  for (size_t i = 0; i < root.size(); ++i)
    if (x[i] != 0) numbers.emplace(root[i], 5.0 + double(numbers.size()));
  for (size_t i = 0; i < root.size(); ++i) EXPECT_EQ(y[i], x[i] == 0 ? 0 : numbers[root[i]]) << i;
}

TEST(ConnectedComponent, ReportsValuesThatAreNotLabels) {
  for (const double value : {double(NAN), 1e9, double(-INFINITY)}) {
    const Array x({1, 1, 1, 3}, {1, value, 1});
    EXPECT_THROW(components(x), Error);
    for (const Device& device : tested_devices()) {
      LayerRun run("type: 'ConnectedComponent'", {x}, {.device = device, .backward = false});
      run.forward();
      EXPECT_EQ(run.y()[0][0], 2);
      EXPECT_TRUE(std::isnan(run.y()[0][1]));
      EXPECT_EQ(run.y()[0][2], 3);
      EXPECT_THROW(run.validate(), Error);
    }
  }
}

TEST(ConnectedComponent, ReportsErrors) {
  expect_field_error("type: 'ConnectedComponent'", {{1, 2, 4}}, "bottom[0]", "N x C x H x W");
  expect_field_error("type: 'ConnectedComponent'", {{1, 1, 4000, 4000}}, "bottom[0]", "too large");
}

}  // namespace
}  // namespace cortado::harness
