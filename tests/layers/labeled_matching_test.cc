#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

const std::string kLayer = "type: 'LabeledMatching' labeled_matching_param { num_classes: 4 momentum: 0.75 }";

/// Five features of six numbers; the persons 2, none, 0, 2 again, and one that is not stored.
Arrays example() { return {random({5, 6}, 1), Array({5}, {2, -1, 0, 2, 4})}; }
const Array kKnown = random({4, 6}, 2), kPasses({4}, {3, 0, 1, 2});

double similarity(const Array& a, size_t i, const Array& b, size_t j) {
  const size_t width = size_t(a.shape.count(1));
  double sum = 0;
  for (size_t k = 0; k < width; ++k) sum += a[i * width + k] * b[j * width + k];
  return sum;
}

TEST(LabeledMatching, IsTheSimilarityWithKnownPersons) {
  check_layer({.layer = kLayer,
               .x = example(),
               .reference = [](const Arrays& x, const Arrays& w) -> Arrays {
                 Array scores({5, 4}, 0.0), labels = x[1];
                 for (size_t i = 0; i < 5; ++i)
                   for (size_t j = 0; j < 4; ++j) scores[4 * i + j] = similarity(x[0], i, w[0], j);
                 labels[4] = -1;
                 return {scores, labels};
               },
               .w = {kKnown, kPasses}});
}

TEST(LabeledMatching, MovesPersonsThatItSees) {
  std::vector<Device> devices = tested_devices();
  devices.push_back({});
  for (const Device& device : devices) {
    const Arrays x = example();
    LayerRun run(kLayer, x, {.device = device}, {kKnown, kPasses});
    run.forward();
    run.backward({random({5, 4}, 3), Array({5}, 0.0)});
    Array expected = kKnown;
    for (const size_t i : {0, 2, 3})
      for (size_t k = 0; k < 6; ++k) {
        double& kept = expected[size_t(x[1][i]) * 6 + k];
        kept = 0.75 * kept + 0.25 * x[0][6 * i + k];
      }
    expect_near(run.stored_w(0), expected, 1e-6, "features");
    expect_near(run.stored_w(1), Array({4}, {0, 1, 0, 3}), 0, "passes");
  }
}

TEST(LabeledMatching, LeavesPersonsAloneInForward) {
  LayerRun run(kLayer, example(), {.backward = false}, {kKnown, kPasses});
  run.forward();
  expect_near(run.stored_w(0), kKnown, 1e-6, "features");
  expect_near(run.stored_w(1), kPasses, 0, "passes");
}

TEST(LabeledMatching, TakesLabelsThatAreNotNumbersForUnknownPersons) {
  Arrays x = example();
  x[1] = Array({5}, {double(NAN), double(INFINITY), -3, 3, -INFINITY});
  LayerRun run(kLayer, x, {}, {kKnown, kPasses});
  run.forward();
  expect_near(run.y()[1], Array({5}, {-1, -1, -1, 3, -1}), 0, "labels");
}

TEST(LabeledMatching, ReportsErrors) {
  const std::vector<Shape> x = {{5, 6}, {5}};
  const std::string field = "labeled_matching_param.";
  const auto layer = [](const std::string& options) {
    return "type: 'LabeledMatching' labeled_matching_param { " + options + " }";
  };
  expect_field_error(layer(""), x, field + "num_classes", "missing or 0");
  expect_field_error(layer("num_classes: 4 momentum: 1.5"), x, field + "momentum", "1.5, but must lie in [0, 1]");
  expect_field_error(layer("num_classes: 4 momentum: nan"), x, field + "momentum", "must lie in [0, 1]");
  expect_field_error(layer("num_classes: 4"), {{5, 6}, {4}}, "bottom[1]", "5 rows");
}

}  // namespace
}  // namespace cortado::harness
