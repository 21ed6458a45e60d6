#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

struct Field {
  double pos_w, pos_xy, bi_w, bi_xy, bi_rgb;
  int steps;
  std::string str() const {
    const auto text = [](const std::string& name, double v) { return name + ": " + std::to_string(v) + " "; };
    return "dense_crf_param { " + text("pos_w", pos_w) + text("pos_xy_std", pos_xy) + text("bi_w", bi_w) +
           text("bi_xy_std", bi_xy) + text("bi_rgb_std", bi_rgb) + "max_iter: " + std::to_string(steps);
  }
};

void softmax(std::vector<double>& q, size_t classes) {
  for (size_t i = 0; i < q.size(); i += classes) {
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) sum += std::exp(q[i + c]);
    for (size_t c = 0; c < classes; ++c) q[i + c] = std::exp(q[i + c]) / sum;
  }
}

/// Mean field over all pairs of pixels of one image.
Array exact(const Array& scores, const Array& image, const Field& field) {
  const size_t classes = size_t(scores.shape[1]), width = size_t(scores.shape[3]), n = scores.size() / classes;
  std::vector<double> unary(n * classes);
  for (size_t i = 0; i < n; ++i)
    for (size_t c = 0; c < classes; ++c) unary[i * classes + c] = scores[c * n + i];
  std::vector<double> q = unary;
  softmax(q, classes);
  for (int step = 0; step < field.steps; ++step) {
    std::vector<double> next = unary;
    for (const bool colors : {false, true})
      for (size_t i = 0; i < n; ++i) {
        double norm = 0;
        std::vector<double> sum(classes);
        for (size_t j = 0; j < n; ++j) {
          const double dx = double(i % width) - double(j % width), dy = double(i / width) - double(j / width);
          const double xy = colors ? field.bi_xy : field.pos_xy;
          double distance = (dx * dx + dy * dy) / (xy * xy);
          for (size_t c = 0; c < 3 && colors; ++c)
            distance += std::pow((image[c * n + i] - image[c * n + j]) / field.bi_rgb, 2);
          const double k = std::exp(-distance / 2);
          norm += k;
          for (size_t c = 0; c < classes; ++c) sum[c] += k * q[j * classes + c];
        }
        for (size_t c = 0; c < classes; ++c)
          next[i * classes + c] += (colors ? field.bi_w : field.pos_w) * sum[c] / norm;
      }
    q = next;
    softmax(q, classes);
  }
  Array y(scores.shape);
  for (size_t i = 0; i < n; ++i)
    for (size_t c = 0; c < classes; ++c) y[c * n + i] = q[i * classes + c];
  return y;
}

Array crf(const std::string& options, const Arrays& x, int threads = 1) {
  LayerRun run("type: 'DenseCRF' " + options, x, {.threads = threads, .backward = false});
  run.forward();
  return run.y()[0];
}

/// A left half and a right half of two colours, and uncertain scores.
const Shape kShape{1, 3, 12, 16};
Array halves() {
  Array image(kShape);
  for (size_t i = 0; i < image.size(); ++i) image[i] = (i % 16 < 8 ? 20 : 120) + double(i * 7 % 11);
  return image;
}
Array noisy_scores() {
  Array scores = random(kShape, 1);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] += i / 192 == (i % 16 < 8 ? 0 : 2) ? 0.6 : 0;
  return scores;
}

TEST(DenseCRF, ApproximatesTheSumOverAllPairs) {
  const Array size({1, 1, 1, 2}, {12, 16});
  for (const Field& field : {Field{1, 3, 2, 6, 30, 1}, Field{0.5, 2, 3, 8, 40, 3}}) {
    const Array y = crf(field.str() + " }", {noisy_scores(), size, halves()}),
                expected = exact(noisy_scores(), halves(), field);
    double error = 0;
    for (size_t i = 0; i < y.size(); ++i) error += std::fabs(y[i] - expected[i]) / double(y.size());
    EXPECT_LT(error, 0.03) << field.str();
    expect_near(y, expected, 0.15, field.str());
  }
}

TEST(DenseCRF, FollowsTheImage) {
  const Field field{1, 2, 6, 20, 20, 8};
  const Array y =
      crf(field.str() + " output_probability: false }", {noisy_scores(), Array({1, 1, 1, 2}, {12, 16}), halves()});
  EXPECT_EQ(y.shape, (Shape{1, 1, 12, 16}));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i % 16 < 8 ? 0 : 2) << i;
}

TEST(DenseCRF, WithoutStepsIsSoftmax) {
  const Array x = random({2, 3, 4, 5}, 1);
  const Array y = crf("dense_crf_param { max_iter: 0 }", {x, Array({2, 1, 1, 2}, {4, 5, 2, 3})});
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t n = i / 60, at = i % 20;
    double sum = 0;
    for (size_t c = 0; c < 3; ++c) sum += std::exp(x[n * 60 + c * 20 + at]);
    const bool inside = n == 0 || (at / 5 < 2 && at % 5 < 3);
    EXPECT_NEAR(y[i], inside ? std::exp(x[i]) / sum : 0, 1e-6) << i;
  }
}

TEST(DenseCRF, IsTheSameForAnyNumberOfThreads) {
  const Arrays x = {noisy_scores(), Array({1, 1, 1, 2}, {12, 16}), halves()};
  const std::string options = Field{1, 3, 2, 6, 30, 3}.str() + " }";
  EXPECT_TRUE(same_bits(crf(options, x), crf(options, x, 8)));
}

TEST(DenseCRF, AcceptsAnyValues) {
  Arrays x = {noisy_scores(), Array({1, 1, 1, 2}, {1e30, -5}), halves()};
  EXPECT_THROW(crf("dense_crf_param { bi_w: 1 }", x), std::exception);
  for (const double size : {-5.0, 1e30, double(NAN)}) {
    x[1][1] = size;
    for (const double value : {double(NAN), double(INFINITY), -1e38}) {
      x[2][5] = x[2][200] = value;
      x[0][7] = value;
      crf("dense_crf_param { bi_w: 1 bi_xy_std: 3 bi_rgb_std: 1e-20 max_iter: 2 }", x);
    }
  }
}

TEST(DenseCRF, ReportsErrors) {
  const std::vector<Shape> two = {{1, 3, 4, 5}, {1, 1, 1, 2}}, three = {{1, 3, 4, 5}, {1, 1, 1, 2}, {1, 3, 4, 5}};
  const auto refuses = [](const std::string& options, const std::vector<Shape>& x, const std::string& field,
                          const std::string& words) {
    expect_field_error("type: 'DenseCRF' dense_crf_param { " + options + " }", x, field, words);
  };
  const std::string p = "dense_crf_param";
  refuses("pos_w: 1", two, p, "it has 1 values of pos_w and 0 of pos_xy_std");
  refuses("pos_w: 1 pos_xy_std: 0", two, p + ".pos_xy_std[0]", "must be above 0");
  refuses("pos_w: nan pos_xy_std: 1", two, p + ".pos_w[0]", "must be a finite number");
  refuses("pos_w: 1 pos_xy_std: 1e-5", two, p + ".pos_xy_std[0]", "too small for images");
  refuses("bi_w: 1 bi_xy_std: 1 bi_rgb_std: 1", two, p + ".bi_w[0]", "third bottom");
  refuses("", three, "bottom[2]", "no kernel reads");
  refuses("", {{1, 3, 4}, {1, 2}}, "bottom[0]", "scores must be N x C x H x W");
  refuses("", {{1, 3, 4, 5}, {3}}, "bottom[1]", "height and width of 1 image");
  refuses("bi_w: 1 bi_xy_std: 1 bi_rgb_std: 1", {{1, 3, 4, 5}, {1, 2}, {1, 1, 4, 5}}, "bottom[2]",
          "its shape is 1x1x4x5");
}

}  // namespace
}  // namespace cortado::harness
