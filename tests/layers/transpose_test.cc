#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'Transpose' transpose_param { dim: 3 dim: 2 dim: 0 dim: 1 }";

TEST(Transpose, PermutesAxes) {
  check_layer({
      .layer = kLayer,
      .x = {random({2, 20, 3, 4}, 1)},
      .reference = [](const Arrays& x, const Arrays&) -> Arrays {
        Array y({4, 3, 2, 20});
        size_t at = 0;
        for (size_t w = 0; w < 4; ++w)
          for (size_t h = 0; h < 3; ++h)
            for (size_t n = 0; n < 2; ++n)
              for (size_t c = 0; c < 20; ++c) y[at++] = x[0][((n * 20 + c) * 3 + h) * 4 + w];
        return {y};
      },
      .channels_last = true,
  });
}

TEST(Transpose, IsInvertedByTheInverseOrder) {
  const Array x = random({2, 3, 4, 5}, 1);
  LayerRun there(kLayer, {x});
  there.forward();
  EXPECT_EQ(there.y()[0].shape, (Shape{5, 4, 2, 3}));
  LayerRun back("type: 'Transpose' transpose_param { dim: 2 dim: 3 dim: 1 dim: 0 }", {there.y()[0]});
  back.forward();
  EXPECT_EQ(back.y()[0].shape, x.shape);
  EXPECT_EQ(back.y()[0].values, x.values);
}

TEST(Transpose, AvoidsCopiesIfPossible) {
  LayerRun run("type: 'Transpose' transpose_param { dim: 1 dim: 0 dim: 2 }", {random({1, 4, 3}, 1)});
  EXPECT_TRUE(run.needs().aliasing.view);
}

TEST(Transpose, ReportsErrors) {
  const auto refuses = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'Transpose' transpose_param { " + options + " }", {{2, 3, 4}}, "transpose_param" + field,
                       words);
  };
  refuses("", "", "dim names 0 axes, but bottom[0] is 2x3x4: it has 3");
  refuses("dim: 1 dim: 0", ".dim[0]", "dim names 2 axes");
  refuses("dim: 0 dim: 1 dim: 3", ".dim[2]", "axis 3 does not exist");
  refuses("dim: 0 dim: 4294967295 dim: 1", ".dim[1]", "does not exist");
  refuses("dim: 1 dim: 2 dim: 1", ".dim[2]", "axis 1 is named twice");
}

}  // namespace
}  // namespace cortado::harness
