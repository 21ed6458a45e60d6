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

TEST(Gemm, AgreesWithPlainLoops) {
  Context context(2);
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {3, 5, 7}, {64, 10, 500}, {33, 17, 0}, {1, 130, 65}, {130, 1, 9}})
    for (int transposes = 0; transposes < 4; ++transposes)
      for (float beta : {0.0f, 1.0f, -0.5f}) {
        const GemmShape s{m, n, k, (transposes & 1) != 0, (transposes & 2) != 0};
        const auto a = random_values(m * k, 1), b = random_values(k * n, 2), start = random_values(m * n, 3);
        auto c = start;
        if (beta == 0) c.assign(c.size(), std::numeric_limits<float>::quiet_NaN());  // must not be read
        gemm(context, s, a.data(), b.data(), c.data(), beta);
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

}  // namespace
}  // namespace cortado::kernels
