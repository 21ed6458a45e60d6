#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "proto/weights/weights_file.h"
#include "tests/harness/softmax_losses.h"

namespace cortado::harness {
namespace {

struct Rule {
  By by = By::kCounted;
  double ignored = -1e9;
  int axis = 1;
};

Arrays loss_of(const Arrays& x, const Array& h, const Rule& rule) {
  const SoftmaxRowsOf rows(x[0], rule.axis);
  double loss = 0, counted = 0;
  for (int64_t r = 0; r < rows.rows(); ++r) {
    const double label = x[1][size_t(r)];
    if (label == rule.ignored) continue;
    counted += 1;
    for (int64_t c = 0; c < rows.classes(); ++c)
      loss -= h[size_t(int64_t(label) * rows.classes() + c)] * std::log(rows.p(r, c));
  }
  return rows.mean(loss, rule.by, counted);
}

LayerCase infogain(const std::string& options, const Shape& shape, const Shape& labels, const Rule& rule,
                   bool shows_p = false) {
  const int64_t classes = shape[rule.axis];
  return {
      .layer = "type: 'InfogainLoss' top: 'loss' " + std::string(shows_p ? "top: 'p' " : "") + options,
      .x = {random(shape, 1, -3, 3), random_labels(labels, 2, classes), random({1, 1, classes, classes}, 3, 0, 0.5)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        const Arrays y = loss_of(x, x[2], rule);
        return shows_p ? y : Arrays{y[0]};
      },
      .tolerance = 2e-4,
  };
}

TEST(InfogainLoss, WeightsAllClassesByTheLabelsRow) {
  check_layer(infogain("", {6, 5}, {6}, {}));
  check_layer(infogain("infogain_loss_param { axis: -1 }", {2, 3, 4}, {2, 3}, {.axis = 2}));
  check_layer(infogain("", {2, 4, 3, 2}, {2, 1, 3, 2}, {}, true));
}

TEST(InfogainLoss, UsesTheNormalizer) {
  const Shape x = {2, 5, 3, 2}, labels = {2, 3, 2};
  check_layer(infogain("loss_param { ignore_label: 2 }", x, labels, {By::kCounted, 2}));
  check_layer(infogain("loss_param { ignore_label: 2 normalization: FULL }", x, labels, {By::kAll, 2}));
  check_layer(infogain("loss_param { normalization: BATCH_SIZE }", x, labels, {By::kOuter}));
  check_layer(infogain("loss_param { normalization: NONE }", x, labels, {By::kOne}));
  check_layer(infogain("loss_param { normalize: false }", x, labels, {By::kOuter}));
}

TEST(InfogainLoss, ReadsTheMatrixFromAFile) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("cortado_infogain_" + std::to_string(::getpid()) + ".binaryproto");
  const Array h = random({5, 5}, 3, 0, 0.5);
  write_blob_file(path, {Shape{1, 1, 5, 5}, {h.values.begin(), h.values.end()}});
  const std::string layer = "type: 'InfogainLoss' infogain_loss_param { source: '" + path + "' }";
  check_layer({
      .layer = layer,
      .x = {random({6, 5}, 1, -3, 3), random_labels({6}, 2, 5)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {loss_of(x, h, {})[0]}; },
      .tolerance = 2e-4,
  });
  expect_field_error(layer, {{6, 4}, {6}}, "infogain_loss_param.source", "has 25 values (1x1x5x5), but there are 4");
  std::filesystem::remove(path);
  EXPECT_THROW(MadeLayer(layer, "", {{6, 5}, {6}}), Error);
}

TEST(InfogainLoss, ReportsAnInvalidLabel) {
  const Arrays x = {Array({2, 3}), Array({2}, {0, 3}), Array({3, 3}, 1.0)};
  EXPECT_THROW(LayerRun("type: 'InfogainLoss'", x).forward(), Error);
  for (const Device& device : tested_devices()) {
    LayerRun run("type: 'InfogainLoss'", x, {.device = device});
    run.forward();
    EXPECT_TRUE(std::isnan(run.y()[0][0]));
    EXPECT_THROW(run.validate(), Error);
  }
}

TEST(InfogainLoss, ReportsErrors) {
  const std::string layer = "type: 'InfogainLoss' ";
  expect_field_error(layer, {{4, 3}, {4}}, "infogain_loss_param", "infogain matrix is missing");
  expect_field_error(layer + "infogain_loss_param { source: 'h' }", {{4, 3}, {4}, {3, 3}}, "infogain_loss_param.source",
                     "contradicts");
  expect_field_error(layer, {{4, 3}, {4}, {4, 4}}, "bottom[2]", "has 16 values (4x4), but there are 3 classes");
  expect_field_error(layer, {{4, 3}, {5}, {3, 3}}, "bottom[1]", "there are 5 labels (5) for 4 predictions (4x3)");
  expect_field_error(layer + "infogain_loss_param { axis: 2 }", {{4, 3}, {4}, {3, 3}}, "infogain_loss_param.axis",
                     "does not exist");
  expect_field_error(layer + "loss_param { label_smoothing: 0.1 }", {{4, 3}, {4}, {3, 3}}, "loss_param.label_smoothing",
                     "not available");
  expect_field_error(layer + "loss_param { class_weight: 1 }", {{4, 3}, {4}, {3, 3}}, "loss_param.class_weight",
                     "not available");
}

}  // namespace
}  // namespace cortado::harness
