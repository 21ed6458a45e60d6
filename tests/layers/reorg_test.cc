#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// darknet's loops: `small` is an index in n x c x h x w, `large` the corresponding one in n x c/ss x hs x ws.
template <typename Visit>
void visit_pairs(const Shape& shape, int64_t s, const Visit& visit) {
  const int64_t c = shape[1], h = shape[2], w = shape[3], parts = c / (s * s);
  for (int64_t small = 0; small < shape.count(); ++small) {
    const int64_t i = small % w, j = small / w % h, k = small / (w * h) % c, n = small / (w * h * c);
    const int64_t offset = k / parts, column = i * s + offset % s, row = j * s + offset / s;
    visit(small, column + w * s * (row + h * s * (k % parts + parts * n)));
  }
}

void check(const std::string& options, int64_t s, const Shape& shape) {
  SCOPED_TRACE(options + " of " + shape.str());
  const bool reverse = options.find("reverse") != std::string::npos;
  const Shape y_shape = reverse ? Shape{shape[0], shape[1] / (s * s), shape[2] * s, shape[3] * s}
                                : Shape{shape[0], shape[1] * s * s, shape[2] / s, shape[3] / s};
  check_layer({
      .layer = "type: 'Reorg' reorg_param { " + options + " }",
      .x = {random(shape, 1)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        Array y(y_shape);
        visit_pairs(shape, s, [&](int64_t small, int64_t large) {
          y[size_t(reverse ? large : small)] = x[0][size_t(reverse ? small : large)];
        });
        return {y};
      },
      .channels_last = true,
  });
}

TEST(Reorg, HasDarknetsOrder) {
  check("stride: 2", 2, {2, 8, 4, 6});
  check("stride: 2", 2, {1, 4, 2, 2});
  check("stride: 3", 3, {2, 18, 3, 6});
  check("stride: 1", 1, {2, 3, 3, 2});
  check("stride: 2 reverse: true", 2, {2, 8, 3, 5});
  check("stride: 3 reverse: true", 3, {1, 9, 2, 1});
}

/// The values of a 4 x 2 x 2 image in the order of OpenCV and darknet.
TEST(Reorg, IsNotSpaceToDepth) {
  Array x({1, 4, 2, 2});
  for (size_t i = 0; i < x.size(); ++i) x[i] = double(i);
  LayerRun run("type: 'Reorg' reorg_param { stride: 2 }", {x});
  run.forward();
  EXPECT_EQ(run.y()[0].shape, Shape({1, 16, 1, 1}));
  EXPECT_EQ(run.y()[0].values, (std::vector<double>{0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}));
}

TEST(Reorg, ReportsErrors) {
  const auto refuses = [](const std::string& options, const Shape& x, const std::string& words) {
    expect_field_error("type: 'Reorg' reorg_param { " + options + " }", {x}, "reorg_param.stride", words);
  };
  refuses("", {1, 4, 2, 2}, "stride is missing");
  refuses("stride: 0", {1, 4, 2, 2}, "stride is 0");
  refuses("stride: 2", {1, 6, 2, 2}, "does not divide the 6 channels");
  refuses("stride: 2", {1, 4, 3, 2}, "does not divide the 3 x 2 positions");
  refuses("stride: 4294967295", {1, 4, 2, 2}, "does not divide");
  expect_field_error("type: 'Reorg' reorg_param { stride: 2 }", {{1, 4, 2}}, "bottom[0]", "N x C x H x W");
}

}  // namespace
}  // namespace cortado::harness
