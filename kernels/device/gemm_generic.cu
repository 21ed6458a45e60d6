// The matrix product as one sum for each of its elements, whatever the types: no tiles, so every operand is read as
// often as it is used. For where no library runs.

#include "core/for_each.h"
#include "core/half.h"
#include "kernels/device/gemm_generic.h"
#include "kernels/device/products.h"

namespace cortado::kernels {
namespace {

/// One row of op(a), or one column of op(b): the p-th value at data[p * step].
template <typename T>
struct Line {
  const T* data;
  int64_t step;
  CORTADO_HD float operator[](int64_t p) const { return data[p * step]; }
};

template <typename A, typename B>
struct Term {
  Line<A> a;
  Line<B> b;
  CORTADO_HD float operator()(int64_t p) const { return a[p] * b[p]; }
};

template <typename A, typename B, typename C>
struct Product {
  GemmShape s;
  const A* a;
  const B* b;
  C* c;
  float beta;
  const B* bias;
  Activation activation;

  /// As of a library that reads each operand once.
  Traffic traffic(int64_t n) const {
    const int64_t sum = n * int64_t(sizeof(C)), added = bias ? s.n * int64_t(sizeof(B)) : 0;
    return {s.m * s.k * int64_t(sizeof(A)) + s.k * s.n * int64_t(sizeof(B)) + added + (beta != 0 ? sum : 0), sum};
  }
  CORTADO_HD void operator()(int64_t at) const {
    const int64_t i = at / s.n, j = at % s.n;
    const Line<A> row = s.transpose_a ? Line<A>{a + i, s.m} : Line<A>{a + i * s.k, 1};
    const Line<B> column = s.transpose_b ? Line<B>{b + j * s.k, 1} : Line<B>{b + j, s.n};
    float sum = sum_of(s.k, Term<A, B>{row, column});
    if (beta != 0) sum += beta * float(c[at]);
    c[at] = C(finished(sum, bias, j, activation));
  }
};

}  // namespace

void gemm_generic(Context& context, const GemmShape& s, const void* a, const void* b, void* c, float beta,
                  const void* bias, const Activation& activation) {
  with_float_type(s.a, [&](auto a_type) {
    with_float_type(s.b, [&](auto b_type) {
      with_float_type(s.c, [&](auto c_type) {
        using A = decltype(a_type);
        using B = decltype(b_type);
        using C = decltype(c_type);
        for_each(context, s.m * s.n,
                 Product<A, B, C>{s, static_cast<const A*>(a), static_cast<const B*>(b), static_cast<C*>(c), beta,
                                  static_cast<const B*>(bias), activation});
      });
    });
  });
}

}  // namespace cortado::kernels
