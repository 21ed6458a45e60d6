#pragma once

// Means and variances of the rows of a matrix, and other sums over rows or columns. Rows are contiguous. For .cu files,
// like core/loops/for_each.h.

#include <cmath>

#include "layers/common/loops/typed.h"

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

/// 1 / width; 0 for empty rows.
inline float share_of_row(int64_t width) { return width > 0 ? 1 / float(width) : 0; }

inline void row_means(Context& context, const Tensor& x, int64_t rows, int64_t width, float* mean) {
  sum_of_rows<RowValue>(context, rows, width, mean, x, width, share_of_row(width));
}

/// The mean square of the differences from `mean`.
inline void row_variances(Context& context, const Tensor& x, int64_t rows, int64_t width, const float* mean,
                          float* variance) {
  sum_of_rows<RowSquaredDistance>(context, rows, width, variance, x, mean, width, share_of_row(width));
}

constexpr int64_t kRowsAtOnce = 32;  ///< small enough for their part of a few columns to stay in a core's cache

/// The sum of one column over one block of rows.
template <typename Term>
struct ColumnPart {
  Term term;
  float* parts;
  int64_t rows, width;
  CORTADO_HD void operator()(int64_t i) const {
    const int64_t block = i / width, column = i - block * width, first = block * kRowsAtOnce;
    const int64_t end = first + kRowsAtOnce < rows ? first + kRowsAtOnce : rows;
    float sum = 0;
    for (int64_t k = first; k < end; ++k) sum += term(k, column);
    parts[i] = sum;
  }
};

struct PartOfColumn {
  const float* parts;
  int64_t width;
  CORTADO_HD float operator()(int64_t column, int64_t block) const { return parts[block * width + column]; }
};

/// Bytes of scratch that sum_of_columns() needs.
inline int64_t sum_of_columns_scratch(int64_t rows, int64_t width) {
  return (rows + kRowsAtOnce - 1) / kRowsAtOnce * width * int64_t(sizeof(float));
}

/// out[i] = sum over rows k of Term<T>{members}(k, i), added to the old value if `add`. Sums blocks of rows first, then
/// these, so that memory is read in order.
template <template <typename> class Term, typename... Members>
void sum_of_columns(Context& context, int64_t rows, int64_t width, float* scratch, float* out, bool add,
                    const Members&... members) {
  const int64_t blocks = (rows + kRowsAtOnce - 1) / kRowsAtOnce;
  const auto sum = [&](const auto& term) {
    using Part = ColumnPart<std::decay_t<decltype(term)>>;
    for_each(context, blocks * width, Part{term, scratch, rows, width});
  };
  with_functor<Term>(sum, members...);
  reduce_rows(context, width, blocks, PartOfColumn{scratch, width}, out, add);
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
