#pragma once

// Means and variances of the rows of a matrix, and other sums over each row. Rows are contiguous. For .cu files, as
// core/for_each.h is.

#include <cmath>

#include "layers/typed.h"

namespace cortado {

namespace {

template <typename T>
struct RowValue {
  const T* x;
  int64_t width;
  float scale;
  CORTADO_HD float operator()(int64_t k, int64_t i) const { return scale * x[k * width + i]; }
};

template <typename T>
struct RowSquaredDistance {
  const T* x;
  const float* mean;
  int64_t width;
  float scale;
  CORTADO_HD float operator()(int64_t k, int64_t i) const {
    const float distance = x[k * width + i] - mean[k];
    return scale * distance * distance;
  }
};

struct InverseDeviation {
  float* variance;
  float eps;
  CORTADO_HD void operator()(int64_t k) const { variance[k] = 1 / sqrtf(variance[k] + eps); }
};

/// out[k] = sum over i in [0, width) of Term<T>{members}(k, i).
template <template <typename> class Term, typename... Members>
void sum_of_rows(Context& context, int64_t rows, int64_t width, float* out, const Members&... members) {
  const auto sum = [&](const auto& term) { reduce_rows(context, rows, width, term, out); };
  with_functor<Term>(sum, members...);
}

/// 1 / width; 0 where rows are empty.
inline float share_of_row(int64_t width) { return width > 0 ? 1 / float(width) : 0; }

inline void row_means(Context& context, const Tensor& x, int64_t rows, int64_t width, float* mean) {
  sum_of_rows<RowValue>(context, rows, width, mean, x, width, share_of_row(width));
}

/// The mean square of the distances from `mean`.
inline void row_variances(Context& context, const Tensor& x, int64_t rows, int64_t width, const float* mean,
                          float* variance) {
  sum_of_rows<RowSquaredDistance>(context, rows, width, variance, x, mean, width, share_of_row(width));
}

/// The mean of each row, and 1 / sqrt(variance + eps).
inline void row_moments(Context& context, const Tensor& x, int64_t rows, int64_t width, float eps, float* mean,
                        float* factor) {
  row_means(context, x, rows, width, mean);
  row_variances(context, x, rows, width, mean, factor);
  for_each(context, rows, InverseDeviation{factor, eps});
}

}  // namespace

}  // namespace cortado
