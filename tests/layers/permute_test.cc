#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Element by element: the index in y of the element with index i in x.
Array permuted(const Array& x, const std::vector<int>& order) {
  Shape shape = x.shape;
  for (size_t k = 0; k < order.size(); ++k) shape[int(k)] = x.shape[order[k]];
  Array y(shape);
  for (int64_t i = 0; i < x.shape.count(); ++i) {
    std::vector<int64_t> index(order.size());
    int64_t left = i, at = 0;
    for (size_t k = order.size(); k-- > 0; left /= x.shape[int(k)]) index[k] = left % x.shape[int(k)];
    for (size_t k = 0; k < order.size(); ++k) at = at * shape[int(k)] + index[size_t(order[k])];
    y[size_t(at)] = x[size_t(i)];
  }
  return y;
}

void check(const std::string& options, const Shape& shape, const std::vector<int>& order) {
  SCOPED_TRACE(options + " of " + shape.str());
  check_layer({
      .layer = "type: 'Permute' permute_param { " + options + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {permuted(x[0], order)}; },
      .channels_last = true,
  });
}

TEST(Permute, MovesChannelsLast) {
  check("order: 0 order: 2 order: 3 order: 1", {2, 20, 3, 4}, {0, 2, 3, 1});
  check("order: 0 order: 2 order: 3 order: 1", {2, 3, 5, 4}, {0, 2, 3, 1});
  check("order: 0 order: 3 order: 1 order: 2", {2, 3, 5, 4}, {0, 3, 1, 2});
}

TEST(Permute, SupportsAnyOrder) {
  check("order: 3 order: 2 order: 1 order: 0", {2, 3, 4, 5}, {3, 2, 1, 0});
  check("order: 1 order: 0 order: 3 order: 2", {2, 3, 4, 5}, {1, 0, 3, 2});
  check("order: 1 order: 0", {7, 5}, {1, 0});
  check("order: 2 order: 1 order: 0", {1, 4, 3}, {2, 1, 0});
}

TEST(Permute, AppendsOmittedAxes) {
  check("order: 2", {2, 3, 4, 5}, {2, 0, 1, 3});
  check("order: 3 order: 1", {2, 3, 4, 5}, {3, 1, 0, 2});
}

TEST(Permute, AvoidsCopiesIfPossible) {
  check("", {2, 3, 4, 5}, {0, 1, 2, 3});
  check("order: 0 order: 2 order: 1", {2, 1, 6}, {0, 2, 1});
  const MadeLayer made("type: 'Permute' permute_param { order: 0 order: 2 order: 1 }", "", {{2, 1, 6}});
  EXPECT_EQ(made.shapes.y[0], (Shape{2, 6, 1}));
  LayerRun run("type: 'Permute' permute_param { order: 0 order: 2 order: 1 }", {random({2, 1, 6}, 1)});
  EXPECT_TRUE(run.needs().aliasing.view);
}

TEST(Permute, TakesAnyNumberOfAxes) {
  check("", Shape(), {});
  check("", {5}, {0});
  check("order: 4 order: 2 order: 0", {2, 3, 2, 2, 3}, {4, 2, 0, 1, 3});
  check("order: 6 order: 5 order: 4 order: 3 order: 2 order: 1 order: 0", {2, 2, 2, 3, 2, 2, 2}, {6, 5, 4, 3, 2, 1, 0});
  check("order: 1", {3, 0, 2}, {1, 0, 2});
}

TEST(Permute, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'Permute' permute_param { " + options + " }", {{2, 3, 4}}, "permute_param." + field,
                       words);
  };
  refuses("order: 0 order: 3", "order[1]", "axis 3 does not exist");
  refuses("order: 4294967295", "order[0]", "does not exist");
  refuses("order: 1 order: 2 order: 1", "order[2]", "axis 1 is listed twice");
}

}  // namespace
}  // namespace cortado::harness
