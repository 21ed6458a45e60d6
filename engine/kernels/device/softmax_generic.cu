// Softmax with one functor call per row. If a row's values are adjacent, a group of a device's lanes shares it.

#include <cmath>

#include "core/half.h"
#include "core/loops/for_each_row.h"
#include "kernels/softmax.h"

namespace cortado::kernels {
namespace {

/// The rows of outer x classes x inner.
struct Rows {
  int64_t classes, inner;

  /// The traffic of a call over `arrays` arrays; a row's values stay cached between passes.
  template <typename T>
  Traffic traffic(int64_t rows, int arrays) const {
    const int64_t each = rows * classes * int64_t(sizeof(T));
    return {each * arrays, each};
  }
  CORTADO_HD int64_t first(int64_t row) const { return row / inner * classes * inner + row % inner; }
};

template <typename T>
struct SoftmaxGenericForward {
  Rows rows;
  const T* x;
  T* y;

  Traffic traffic(int64_t n) const { return rows.template traffic<T>(n, 1); }
  CORTADO_HD void operator()(int64_t row, const RowGroup& group) const {
    const int64_t step = rows.inner;
    const T* from = x + rows.first(row);
    T* to = y + rows.first(row);
    const float most = group.largest(rows.classes, [=](int64_t c) { return float(from[c * step]); });
    const float sum = group.sum(rows.classes, [=](int64_t c) { return expf(float(from[c * step]) - most); });
    group.each(rows.classes, [=](int64_t c) { to[c * step] = T(expf(float(from[c * step]) - most) * (1 / sum)); });
  }
};

template <typename T>
struct Backward {
  Rows rows;
  const T *y, *dy;
  T* dx;

  Traffic traffic(int64_t n) const { return rows.template traffic<T>(n, 2); }
  CORTADO_HD void operator()(int64_t row, const RowGroup& group) const {
    const int64_t step = rows.inner, first = rows.first(row);
    const T *share = y + first, *gradient = dy + first;
    T* to = dx + first;
    const float dot =
        group.sum(rows.classes, [=](int64_t c) { return float(share[c * step]) * float(gradient[c * step]); });
    group.each(rows.classes,
               [=](int64_t c) { to[c * step] = T(float(share[c * step]) * (float(gradient[c * step]) - dot)); });
  }
};

class SoftmaxGeneric final : public Softmax {
 public:
  explicit SoftmaxGeneric(const SoftmaxRequest& request) : r_(request), rows_{request.classes, request.inner} {}

  std::string name() const override { return "plain"; }

  void forward(Context& context, const void* x, void* y, void*) override {
    with_float_type(r_.dtype, [&](auto type) {
      using T = decltype(type);
      for_each_row(context, count(), rows_.inner == 1,
                   SoftmaxGenericForward<T>{rows_, static_cast<const T*>(x), static_cast<T*>(y)});
    });
  }
  void backward(Context& context, const void* y, const void* dy, void* dx, void*) override {
    with_float_type(r_.dtype, [&](auto type) {
      using T = decltype(type);
      for_each_row(context, count(), rows_.inner == 1,
                   Backward<T>{rows_, static_cast<const T*>(y), static_cast<const T*>(dy), static_cast<T*>(dx)});
    });
  }

 private:
  int64_t count() const { return r_.classes > 0 ? r_.outer * r_.inner : 0; }

  SoftmaxRequest r_;
  Rows rows_;
};

}  // namespace

std::unique_ptr<Softmax> make_softmax_generic(const SoftmaxRequest& request, Context&, std::string&) {
  return std::make_unique<SoftmaxGeneric>(request);
}

}  // namespace cortado::kernels
