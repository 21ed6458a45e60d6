#pragma once

// Winograd's short convolutions F(m, r): m outputs of a filter with r taps from n = m + r - 1 inputs with n
// multiplications, nested for two dimensions (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks",
// 2015):
//     y = A^T [(G w G^T) . (B^T x B)] A,
// and, transposed, the gradient of the filter dw = G^T [(B^T x B) . (A dy A^T)] G. The matrices are the Toom-Cook
// matrices for the points 0, +p and -p for each p of a list, and infinity. Because points come in pairs, each pair
// needs one sum over even and one over odd elements, used with both signs. Rows and columns are in the order 0, +p, -p,
// ..., infinity. Processes a register of channels at once.
//
// The points 2/3 and 3/2 yield a third of the rounding error of the usual 1 and 2.

#include <array>

#include "kernels/cpu/vec16f.h"

namespace cortado::kernels {

template <int kOutputs, int kTaps, typename Vec = RegisterVec>
class Winograd {
 public:
  static constexpr int kSize = kOutputs + kTaps - 1;

  /// B^T x B: transforms kSize x kSize inputs to left operands of products.
  [[gnu::always_inline]] static void transform_input(const Vec (&x)[kSize][kSize], Vec (&to)[kSize][kSize]) {
    Vec half[kSize][kSize];
#pragma GCC unroll 8
    for (int j = 0; j < kSize; ++j) input(&x[0][j], kSize, &half[0][j], kSize);
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i) input(half[i], 1, to[i], 1);
  }

  /// A dy A^T
  [[gnu::always_inline]] static void expand_output(const Vec (&dy)[kOutputs][kOutputs], Vec (&to)[kSize][kSize]) {
    expand_both<kOutputs, false>(dy, to);
  }
  /// A^T m A
  [[gnu::always_inline]] static void contract_output(const Vec (&m)[kSize][kSize], Vec (&y)[kOutputs][kOutputs]) {
    contract_both<kOutputs, false>(m, y);
  }
  /// G w G^T
  [[gnu::always_inline]] static void expand_weights(const Vec (&w)[kTaps][kTaps], Vec (&to)[kSize][kSize]) {
    expand_both<kTaps, true>(w, to);
  }
  /// G^T m G
  [[gnu::always_inline]] static void contract_weights(const Vec (&m)[kSize][kSize], Vec (&dw)[kTaps][kTaps]) {
    contract_both<kTaps, true>(m, dw);
  }

 private:
  static constexpr int kPairs = (kSize - 2) / 2;
  static_assert(kSize == 2 * kPairs + 2 && kPairs >= 1 && kPairs <= 3);

  /// Per pair +-p, and in row kPairs for 0 and infinity.
  struct Coefficients {
    float even[kPairs + 1][kPairs + 1] = {}, odd[kPairs + 1][kPairs + 1] = {};  ///< of B^T, for x[2k + 2] and x[2k + 1]
    float powers[kPairs][kSize] = {}, divided[kPairs][kSize] = {};              ///< of A, and of G
    float divided_zero = 1;                                                     ///< of G, for the point 0
  };

  /// The coefficients, from z^0 up, of the product of (z - p^2) over all pairs except `without`.
  static constexpr std::array<double, kPairs + 1> product(const double (&points)[kPairs], int without) {
    std::array<double, kPairs + 1> c{};
    c[0] = 1;
    for (int i = 0; i < kPairs; ++i)
      for (int k = kPairs; k >= 0 && i != without; --k)
        c[size_t(k)] = (k ? c[size_t(k) - 1] : 0) - points[i] * points[i] * c[size_t(k)];
    return c;
  }

  static constexpr Coefficients make_coefficients() {
    constexpr double kPoints[][3] = {{1}, {2.0 / 3, 3.0 / 2}, {1, 2, 1.0 / 2}};
    double points[kPairs] = {};
    for (int i = 0; i < kPairs; ++i) points[i] = kPoints[kPairs - 1][i];
    Coefficients c;
    for (int k = 0; k <= kPairs; ++k) c.even[kPairs][k] = c.odd[kPairs][k] = float(product(points, -1)[size_t(k)]);
    c.divided_zero = float(1 / product(points, -1)[0]);
    for (int i = 0; i < kPairs; ++i) {
      const auto others = product(points, i);
      double distances = 0;  // product of the point's differences to all others
      for (int k = kPairs; k >= 0; --k) {
        c.even[i][k] = float(others[size_t(k)]);
        c.odd[i][k] = float(points[i] * others[size_t(k)]);
        distances = distances * points[i] * points[i] + others[size_t(k)];
      }
      distances *= 2 * points[i] * points[i];
      double power = 1;
      for (int k = 0; k < kSize; ++k, power *= points[i]) {
        c.powers[i][k] = float(power);
        c.divided[i][k] = float(power / distances);
      }
    }
    return c;
  }
  static constexpr Coefficients kCoefficients = make_coefficients();

  /// One dimension of B^T x.
  [[gnu::always_inline]] static void input(const Vec* x, int step, Vec* to, int to_step) {
    constexpr Coefficients c = kCoefficients;
    Vec zero = c.even[kPairs][0] * x[0], infinity = c.odd[kPairs][0] * x[step];
#pragma GCC unroll 8
    for (int k = 1; k <= kPairs; ++k) {
      zero += c.even[kPairs][k] * x[2 * k * step];
      infinity += c.odd[kPairs][k] * x[(2 * k + 1) * step];
    }
    to[0] = zero;
    to[(kSize - 1) * to_step] = infinity;
#pragma GCC unroll 4
    for (int i = 0; i < kPairs; ++i) {
      Vec even = c.even[i][0] * x[2 * step], odd = c.odd[i][0] * x[step];
#pragma GCC unroll 8
      for (int k = 1; k < kPairs; ++k) {
        even += c.even[i][k] * x[(2 * k + 2) * step];
        odd += c.odd[i][k] * x[(2 * k + 1) * step];
      }
      to[(2 * i + 1) * to_step] = even + odd;
      to[(2 * i + 2) * to_step] = even - odd;
    }
  }

  /// One dimension of A x (or G x, which divides) with kFrom elements.
  template <int kFrom, bool kDivide>
  [[gnu::always_inline]] static void expand(const Vec* x, int step, Vec* to, int to_step) {
    constexpr Coefficients c = kCoefficients;
    to[0] = kDivide ? x[0] * c.divided_zero : x[0];
    to[(kSize - 1) * to_step] = x[(kFrom - 1) * step];
#pragma GCC unroll 4
    for (int i = 0; i < kPairs; ++i) {
      const auto& powers = kDivide ? c.divided[i] : c.powers[i];
      Vec even = powers[0] * x[0], odd = powers[1] * x[step];
#pragma GCC unroll 8
      for (int k = 2; k < kFrom; ++k) (k % 2 ? odd : even) += powers[k] * x[k * step];
      to[(2 * i + 1) * to_step] = even + odd;
      to[(2 * i + 2) * to_step] = even - odd;
    }
  }

  /// One dimension of A^T m (or G^T m): the transpose of expand().
  template <int kTo, bool kDivide>
  [[gnu::always_inline]] static void contract(const Vec* m, int step, Vec* to, int to_step) {
    constexpr Coefficients c = kCoefficients;
    Vec sum[kTo] = {};
    sum[0] = kDivide ? m[0] * c.divided_zero : m[0];
    sum[kTo - 1] += m[(kSize - 1) * step];
#pragma GCC unroll 4
    for (int i = 0; i < kPairs; ++i) {
      const auto& powers = kDivide ? c.divided[i] : c.powers[i];
      const Vec even = m[(2 * i + 1) * step] + m[(2 * i + 2) * step],
                odd = m[(2 * i + 1) * step] - m[(2 * i + 2) * step];
#pragma GCC unroll 8
      for (int k = 0; k < kTo; ++k) sum[k] += powers[k] * (k % 2 ? odd : even);
    }
#pragma GCC unroll 8
    for (int k = 0; k < kTo; ++k) to[k * to_step] = sum[k];
  }

  template <int kFrom, bool kDivide>
  [[gnu::always_inline]] static void expand_both(const Vec (&x)[kFrom][kFrom], Vec (&to)[kSize][kSize]) {
    Vec half[kSize][kFrom];
#pragma GCC unroll 8
    for (int j = 0; j < kFrom; ++j) expand<kFrom, kDivide>(&x[0][j], kFrom, &half[0][j], kFrom);
#pragma GCC unroll 8
    for (int i = 0; i < kSize; ++i) expand<kFrom, kDivide>(half[i], 1, to[i], 1);
  }
  template <int kTo, bool kDivide>
  [[gnu::always_inline]] static void contract_both(const Vec (&m)[kSize][kSize], Vec (&to)[kTo][kTo]) {
    Vec half[kTo][kSize];
#pragma GCC unroll 8
    for (int j = 0; j < kSize; ++j) contract<kTo, kDivide>(&m[0][j], kSize, &half[0][j], kSize);
#pragma GCC unroll 8
    for (int i = 0; i < kTo; ++i) contract<kTo, kDivide>(half[i], 1, to[i], 1);
  }
};

}  // namespace cortado::kernels
