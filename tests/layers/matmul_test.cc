#include <gtest/gtest.h>

#include "tests/harness/layer_harness.h"

namespace cortado::harness {
namespace {

/// Element by element; the two indices of `a_at` and `b_at` are swapped if the matrix is transposed.
Array product(const Array& a, const Array& b, bool ta, bool tb, double alpha) {
  const int na = a.shape.axes(), nb = b.shape.axes();
  const int64_t m = a.shape[na - (ta ? 1 : 2)], k = a.shape[na - (ta ? 2 : 1)], n = b.shape[nb - (tb ? 2 : 1)];
  const Shape& longer = na >= nb ? a.shape : b.shape;
  std::vector<int64_t> dims(longer.dims().begin(), longer.dims().end() - 2);
  dims.insert(dims.end(), {m, n});
  Array y{Shape(dims)};
  for (int64_t t = 0; t < y.shape.count() / (m * n); ++t)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += a[size_t((na > 2 ? t * m * k : 0) + (ta ? p * m + i : i * k + p))] *
                 b[size_t((nb > 2 ? t * k * n : 0) + (tb ? j * k + p : p * n + j))];
        y[size_t((t * m + i) * n + j)] = alpha * sum;
      }
  return y;
}

LayerCase matmul(const std::string& options, const Shape& a, const Shape& b, bool ta, bool tb, double alpha = 1) {
  return {
      .layer = "type: 'MatMul' matmul_param { " + options + " }",
      .x = {random(a, 1), random(b, 2)},
      .reference = [=](const Arrays& x, const Arrays&) -> Arrays { return {product(x[0], x[1], ta, tb, alpha)}; },
      .same_bits_for_any_threads = false,
  };
}

/// All combinations of transposes; shapes are those before transposing.
void check_transposes(std::vector<int64_t> lead_a, std::vector<int64_t> lead_b, int64_t m, int64_t k, int64_t n) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      std::vector<int64_t> a = lead_a, b = lead_b;
      a.insert(a.end(), {ta ? k : m, ta ? m : k});
      b.insert(b.end(), {tb ? n : k, tb ? k : n});
      SCOPED_TRACE(Shape(a).str() + " by " + Shape(b).str() + (ta ? " ta" : "") + (tb ? " tb" : ""));
      const std::string options = std::string(ta ? "transpose_a: true " : "") + (tb ? "transpose_b: true" : "");
      check_layer(matmul(options, Shape(a), Shape(b), ta, tb));
    }
}

TEST(MatMul, MultipliesMatrices) { check_transposes({}, {}, 3, 5, 4); }
TEST(MatMul, MultipliesMatrixByMatrix) { check_transposes({2, 3}, {2, 3}, 3, 5, 4); }
TEST(MatMul, BroadcastsOneMatrix) {
  check_transposes({3, 2}, {}, 4, 5, 3);
  check_transposes({}, {3, 2}, 4, 5, 3);
}
TEST(MatMul, MultipliesByAlpha) {
  check_layer(matmul("alpha: 0.25", {2, 3, 5}, {2, 5, 4}, false, false, 0.25));
  check_layer(matmul("alpha: -2 transpose_a: true", {2, 5, 3}, {5, 4}, true, false, -2));
}

TEST(MatMul, ReportsMismatchedShapes) {
  const auto expect = [](const std::string& options, const Shape& a, const Shape& b, const std::string& field,
                         const std::string& words) {
    expect_field_error("type: 'MatMul' matmul_param { " + options + " }", {a, b}, field, words);
  };
  expect("", {3}, {3, 2}, "bottom[0]", "at least two axes");
  expect("", {3, 2}, {2}, "bottom[1]", "at least two axes");
  expect("", {3, 2}, {3, 2}, "bottom[1]", "3 rows (3x2), but those of bottom[0] have 2 columns");
  expect("transpose_b: true", {3, 2}, {2, 3}, "bottom[1]", "after the transpose");
  expect("", {4, 3, 2}, {5, 2, 3}, "bottom[1]", "5x2x3, but bottom[0] has 4x3x2");
  expect("", {4, 3, 2}, {1, 2, 3}, "bottom[1]", "1x2x3, but bottom[0] has 4x3x2");
  expect("", {int64_t(1) << 32, 1}, {1, int64_t(1) << 32}, "bottom[1]", "overflows");
}

}  // namespace
}  // namespace cortado::harness
