#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/rng.h"

namespace cortado::kernels {
namespace {

std::vector<float> random_values(int64_t n, uint64_t key) {
  RandomStream random(key);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = random.uniform() - 0.5f;
  return values;
}

void expect_plain_loops(GemmLibrary library) {
  Context context(2);
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {3, 5, 7}, {64, 10, 500}, {33, 17, 0}, {1, 130, 65}, {130, 1, 9}})
    for (int transposes = 0; transposes < 4; ++transposes)
      for (float beta : {0.0f, 1.0f, -0.5f}) {
        const GemmShape s{m, n, k, (transposes & 1) != 0, (transposes & 2) != 0};
        const auto a = random_values(m * k, 1), b = random_values(k * n, 2), start = random_values(m * n, 3);
        auto c = start;
        if (beta == 0) c.assign(c.size(), std::numeric_limits<float>::quiet_NaN());  // must not be read
        gemm(context, s, a.data(), b.data(), c.data(), beta, library);
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j) {
            double sum = beta == 0 ? 0 : double(beta) * start[size_t(i * n + j)];
            for (int p = 0; p < k; ++p)
              sum += double(a[size_t(s.transpose_a ? p * m + i : i * k + p)]) *
                     b[size_t(s.transpose_b ? j * k + p : p * n + j)];
            ASSERT_NEAR(c[size_t(i * n + j)], sum, 1e-5 * std::sqrt(k + 1.0))
                << m << " " << n << " " << k << " " << transposes;
          }
      }
}

TEST(Gemm, AgreesWithPlainLoops) { expect_plain_loops(GemmLibrary::kOneDnn); }

TEST(Gemm, ByOpenBlasAgreesWithPlainLoops) {
  if (openblas_version().empty()) GTEST_SKIP() << "OpenBLAS is not installed";
  expect_plain_loops(GemmLibrary::kOpenBlas);
}

/// The division into pieces depends only on the shape.
TEST(Gemm, IsBitwiseIndependentOfTheNumberOfThreads) {
  const GemmShape s{256, 300, 200};
  const auto a = random_values(s.m * s.k, 1), b = random_values(s.k * s.n, 2);
  for (const GemmLibrary library : {GemmLibrary::kOneDnn, GemmLibrary::kOpenBlas}) {
    if (library == GemmLibrary::kOpenBlas && openblas_version().empty()) continue;
    std::vector<float> alone(size_t(s.m * s.n)), together(alone.size());
    Context one(1), four(4);
    gemm(one, s, a.data(), b.data(), alone.data(), 0, library);
    gemm(four, s, a.data(), b.data(), together.data(), 0, library);
    EXPECT_EQ(alone, together);
  }
}

}  // namespace
}  // namespace cortado::kernels
