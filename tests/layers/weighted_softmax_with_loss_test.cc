#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Labels of class 1 have weight 10; the divisor counts samples or (by_batch) images.
double loss_of(const Array& x, const Array& labels, double ignored, bool by_batch) {
  const size_t images = size_t(x.shape[0]), classes = size_t(x.shape[1]), pixels = x.size() / images / classes;
  double loss = 0, counted = 0;
  for (size_t n = 0; n < images; ++n)
    for (size_t i = 0; i < pixels; ++i) {
      const double label = labels[n * pixels + i];
      if (label == ignored) continue;
      double sum = 0;
      for (size_t c = 0; c < classes; ++c) sum += std::exp(x[(n * classes + c) * pixels + i]);
      const double p = std::exp(x[(n * classes + size_t(label)) * pixels + i]) / sum;
      loss -= (label == 1 ? 10 : 1) * std::log(p);
      ++counted;
    }
  return loss / (by_batch ? double(images) : counted);
}

LayerCase weighted(const std::string& options, double ignored, bool by_batch) {
  return {
      .layer = "type: 'WeightedSoftmaxWithLoss' softmax_param { pos_cid: 1 pos_mult: 10 } " + options,
      .x = {random({2, 3, 3, 4}, 1, -2, 2), random_labels({2, 1, 3, 4}, 2, 3)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays {
        return {Array(Shape(), loss_of(x[0], x[1], ignored, by_batch))};
      },
  };
}

TEST(WeightedSoftmaxWithLoss, WeightsOneClass) {
  check_layer(weighted("", -1, false));
  check_layer(weighted("loss_param { ignore_label: 2 normalize: false }", 2, true));
}

TEST(WeightedSoftmaxWithLoss, RejectsOtherWeightsAndClasses) {
  const auto expect = [](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error("type: 'WeightedSoftmaxWithLoss' " + options, {{4, 3}, {4}}, field, words);
  };
  expect("", "softmax_param", "pos_cid is missing");
  expect("softmax_param { pos_cid: 3 }", "softmax_param.pos_cid", "3 is not one of the 3 classes");
  expect("softmax_param { pos_cid: -1 }", "softmax_param.pos_cid", "-1 is not a class");
  expect("softmax_param { pos_cid: 1 pos_mult: -2 }", "softmax_param.pos_mult", "-2");
  expect("softmax_param { pos_cid: 1 } loss_param { class_weight: 1 }", "loss_param.class_weight", "not available");
  expect_field_error("type: 'SoftmaxWithLoss' softmax_param { pos_cid: 1 }", {{4, 3}, {4}}, "softmax_param.pos_cid",
                     "not available");
  expect_field_error("type: 'Softmax' softmax_param { pos_mult: 2 }", {{4, 3}}, "softmax_param.pos_mult",
                     "not available");
}

}  // namespace
}  // namespace cortado::harness
