#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'AssistedExcitation' assisted_excitation_param { max_iter: 100 }";

/// Two images of 4 x 5 positions. An object of the first covers columns 1 to 2 and rows 0 to 1, one of the second the
/// last position.
const Array kX = random({2, 20, 4, 5}, 1), kMean = random({2, 4, 5}, 2),
            kCentres({2, 2, 5}, {3, 0.4, 0.25, 0.3, 0.4, 0, 0, 0, 0, 0, 0, 0.99, 0.99, 0.01, 0.01, 1, 0, 0, 0, 0}),
            kCorners({1, 1, 3, 8}, {0,  4,  0,  0.25, 0.05, 0.55, 0.45, 0,     -1,    -1,    -1,    -1,
                                    -1, -1, -1, -1,   1,    1,    0,    0.985, 0.985, 0.995, 0.995, 0});

bool excited(size_t image, size_t row, size_t column) {
  return image == 0 ? row <= 1 && column >= 1 && column <= 2 : row == 3 && column == 4;
}

Array raised(const Arrays& x, double factor) {
  Array y = x[0];
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t image = i / 400, place = i % 20;
    if (excited(image, place / 5, place % 5)) y[i] += factor * x[2][image * 20 + place];
  }
  return y;
}

TEST(AssistedExcitation, RaisesObjects) {
  for (const Array& objects : {kCentres, kCorners})
    check_layer({.layer = kLayer, .x = {kX, objects, kMean}, .reference = [](const Arrays& x, const Arrays&) -> Arrays {
                   return {raised(x, 1)};
                 }});
}

TEST(AssistedExcitation, RaisesLessInLaterPasses) {
  const auto expect = [](const std::string& layer, uint64_t pass, double factor) {
    LayerRun run(layer, {kX, kCentres, kMean}, {.pass = pass});
    run.forward();
    expect_near(run.y()[0], raised({kX, kCentres, kMean}, factor), 1e-5, "y");
  };
  expect(kLayer, 50, std::sqrt(0.5));
  expect(kLayer, 100, 0);
  expect(kLayer, 1000, 0);
  expect("type: 'AssistedExcitation'", 1000, 1);
}

TEST(AssistedExcitation, LeavesTestsAlone) {
  LayerRun run(kLayer, {kX, kCentres, kMean}, {.phase = caffe::TEST});
  run.forward();
  expect_near(run.y()[0], kX, 1e-7, "y");
}

TEST(AssistedExcitation, SkipsRowsThatAreNotObjects) {
  Array objects({2, 2, 5},
                {1, double(NAN), 0.5, 0.5, 0.5, 1, 0.5, 0.5, INFINITY, 1, 0.5, 0.5, 0.5, 1, 1, 1, 0.5, 0.5, -1, 1});
  LayerRun run(kLayer, {kX, objects, kMean});
  run.forward();
  expect_near(run.y()[0], kX, 1e-7, "y");
}

TEST(AssistedExcitation, ReportsErrors) {
  expect_field_error(kLayer, {{2, 20, 20}, {2, 2, 5}, {2, 4, 5}}, "bottom[0]", "N x C x H x W");
  expect_field_error(kLayer, {{2, 20, 4, 5}, {2, 2, 4}, {2, 4, 5}}, "bottom[1]", "2x2x4");
  expect_field_error(kLayer, {{2, 20, 4, 5}, {2, 2, 5}, {2, 20, 4, 5}}, "bottom[2]", "must be 2x4x5");
}

}  // namespace
}  // namespace cortado::harness
