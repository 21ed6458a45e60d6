#include <gtest/gtest.h>

#include <cmath>

#include "layers/common/loops/permutohedral.h"
#include "layers/common/weights/filler.h"
#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

using Matrix = std::vector<std::vector<double>>;

const std::string kThetas = "theta_alpha: 5 theta_beta: 2 theta_gamma: 3 ";

std::string meanfield(const std::string& options) {
  return "type: 'MultiStageMeanfield' multi_stage_meanfield_param { " + options + " }";
}

/// The matrix of a filter over pixels with these features, each row divided by its sum.
Matrix filter_matrix(const std::vector<float>& features, int dimensions) {
  const size_t n = features.size() / size_t(dimensions);
  std::vector<float> unit(n * n, 0.0f), out(n * n);
  for (size_t i = 0; i < n; ++i) unit[i * n + i] = 1;
  Context context(ContextOptions{});
  Permutohedral lattice;
  lattice.place(features, dimensions);
  lattice.filter(context, unit.data(), int64_t(n), out.data());
  Matrix matrix(n, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (size_t j = 0; j < n; ++j) sum += matrix[i][j] = double(out[i * n + j]);
    for (double& value : matrix[i]) value /= sum;
  }
  return matrix;
}

/// Mean field in double precision, with the two filters as matrices.
Arrays reference(const Arrays& x, const Arrays& w, int steps) {
  const Shape& shape = x[0].shape;
  const size_t classes = size_t(shape[1]), n = size_t(shape.count(2)), width = size_t(shape[3]);
  Array y(shape);
  for (size_t image = 0; image < size_t(shape[0]); ++image) {
    std::vector<float> places, colours;
    for (size_t p = 0; p < n; ++p) {
      places.insert(places.end(), {float(p % width) / 3, float(p / width) / 3});
      colours.insert(colours.end(), {float(p % width) / 5, float(p / width) / 5});
      for (size_t c = 0; c < 3; ++c) colours.push_back(float(x[2][(image * 3 + c) * n + p]) / 2);
    }
    const Matrix kernels[] = {filter_matrix(places, 2), filter_matrix(colours, 5)};
    const auto at = [&](size_t c, size_t p) { return (image * classes + c) * n + p; };
    Array score = x[1];
    for (int step = 0; step < steps; ++step) {
      Matrix q(classes, std::vector<double>(n)), message(classes, std::vector<double>(n, 0.0));
      for (size_t p = 0; p < n; ++p) {
        double sum = 0;
        for (size_t c = 0; c < classes; ++c) sum += q[c][p] = std::exp(score[at(c, p)]);
        for (size_t c = 0; c < classes; ++c) q[c][p] /= sum;
      }
      for (size_t k = 0; k < 2; ++k)
        for (size_t from = 0; from < classes; ++from)
          for (size_t p = 0; p < n; ++p) {
            double mean = 0;
            for (size_t other = 0; other < n; ++other) mean += kernels[k][p][other] * q[from][other];
            for (size_t to = 0; to < classes; ++to) message[to][p] += w[k][to * classes + from] * mean;
          }
      for (size_t p = 0; p < n; ++p)
        for (size_t to = 0; to < classes; ++to) {
          double pairwise = 0;
          for (size_t from = 0; from < classes; ++from) pairwise += w[2][to * classes + from] * message[from][p];
          score[at(to, p)] = x[0][at(to, p)] - pairwise;
        }
    }
    for (size_t c = 0; c < classes; ++c)
      for (size_t p = 0; p < n; ++p) y[at(c, p)] = score[at(c, p)];
  }
  return {y};
}

void check_meanfield(const Shape& shape, int steps) {
  const Shape image = {shape[0], 3, shape[2], shape[3]};
  check_layer({.layer = meanfield(kThetas + "num_iterations: " + std::to_string(steps)),
               .x = {random(shape, 1), random(shape, 2), random(image, 3, -3, 3)},
               .reference = [=](const Arrays& x, const Arrays& w) { return reference(x, w, steps); },
               .tolerance = 3e-4});
}

TEST(MultiStageMeanfield, IsMeanField) {
  check_meanfield({1, 3, 4, 5}, 1);
  check_meanfield({2, 3, 3, 4}, 3);
  check_meanfield({1, 2, 1, 6}, 2);
}

TEST(MultiStageMeanfield, BeginsWithDiagonalWeights) {
  const auto diagonals = [](const std::string& options) {
    const std::vector<Shape> x = {{1, 3, 2, 2}, {1, 3, 2, 2}, {1, 3, 2, 2}};
    const MadeLayer made(meanfield(kThetas + "num_iterations: 1 " + options), "", x);
    std::vector<double> values;
    for (const WeightSpec& w : made.shapes.w) {
      EXPECT_EQ(w.shape, (Shape{1, 1, 3, 3}));
      std::vector<float> plain(9);
      Context context(ContextOptions{});
      fill(context, w.filler, w.shape, 1, plain.data());
      for (size_t i = 0; i < 9; ++i)
        if (i % 4 == 0)
          values.push_back(plain[i]);
        else
          EXPECT_EQ(plain[i], 0);
    }
    return values;
  };
  EXPECT_EQ(diagonals("spatial_filter_weight: 3 bilateral_filter_weight: 5"),
            (std::vector<double>{3, 3, 3, 5, 5, 5, -1, -1, -1}));
  EXPECT_EQ(diagonals("spatial_filter_weights_str: '3 2.5 1' bilateral_filter_weights_str: '5 4'"),
            (std::vector<double>{3, 2.5, 1, 5, 4, 4, -1, -1, -1}));
}

/// As with CRF-RNN's weights: a wrong pixel within an even region is corrected.
TEST(MultiStageMeanfield, FollowsTheImage) {
  const Shape shape = {1, 2, 8, 8};
  Array unary(shape), image({1, 3, 8, 8});
  for (size_t p = 0; p < 64; ++p) {
    const bool right = p % 8 >= 4, wrong = p == 18 || p == 45;
    unary[p] = right != wrong ? 0 : 1;
    unary[64 + p] = right != wrong ? 1 : 0;
    for (size_t c = 0; c < 3; ++c) image[c * 64 + p] = right ? 100 : 0;
  }
  const Array three({1, 1, 2, 2}, {3, 0, 0, 3}), five({1, 1, 2, 2}, {5, 0, 0, 5}), potts({1, 1, 2, 2}, {-1, 0, 0, -1});
  LayerRun run(meanfield("theta_alpha: 160 theta_beta: 3 theta_gamma: 3 num_iterations: 5"), {unary, unary, image},
               {.backward = false}, {three, five, potts});
  run.forward();
  for (size_t p = 0; p < 64; ++p) EXPECT_EQ(run.y()[0][64 + p] > run.y()[0][p], p % 8 >= 4) << p;
}

TEST(MultiStageMeanfield, AcceptsAnyValues) {
  for (const double value : {double(NAN), double(INFINITY), -1e38}) {
    Arrays x = {random({1, 2, 3, 3}, 1), random({1, 2, 3, 3}, 2), random({1, 3, 3, 3}, 3)};
    x[0][1] = x[1][2] = x[2][3] = value;
    LayerRun run(meanfield(kThetas + "num_iterations: 2"), x, {.backward = false});
    run.forward();
  }
}

TEST(MultiStageMeanfield, ReportsErrors) {
  const std::vector<Shape> x = {{1, 2, 4, 5}, {1, 2, 4, 5}, {1, 3, 4, 5}};
  const auto refuses = [&](const std::string& options, const std::string& field, const std::string& words) {
    expect_field_error(meanfield(options), x, "multi_stage_meanfield_param." + field, words);
  };
  refuses(kThetas, "num_iterations", "it is 0");
  refuses("num_iterations: 1 theta_alpha: 5 theta_beta: 2", "theta_gamma", "must be above 0");
  refuses("num_iterations: 1 theta_alpha: 5 theta_beta: 0 theta_gamma: 3", "theta_beta", "must be above 0");
  refuses("num_iterations: 1 theta_alpha: 1e-5 theta_beta: 1 theta_gamma: 3", "theta_alpha", "too small for images");
  const std::string ok = kThetas + "num_iterations: 1 ";
  refuses(ok + "spatial_filter_weights_str: '1 2 3'", "spatial_filter_weights_str", "3 values for 2 classes");
  refuses(ok + "spatial_filter_weights_str: ' '", "spatial_filter_weights_str", "0 values");
  refuses(ok + "bilateral_filter_weights_str: '1 b'", "bilateral_filter_weights_str", "'b' is not a number");
  expect_field_error(meanfield(ok), {{1, 2, 4}, {1, 2, 4}, {1, 3, 4}}, "bottom[0]", "N x C x H x W");
  expect_field_error(meanfield(ok), {x[0], {1, 3, 4, 5}, x[2]}, "bottom[1]", "1x3x4x5");
  expect_field_error(meanfield(ok), {x[0], x[1], {1, 1, 4, 5}}, "bottom[2]", "1x1x4x5");
}

}  // namespace
}  // namespace cortado::harness
