// Softmax with one functor call for each row: simple, and slow where rows are few and long.

#include <cmath>

#include "core/for_each.h"
#include "core/half.h"
#include "kernels/softmax.h"

namespace cortado::kernels {
namespace {

/// The rows of outer x classes x inner.
struct Rows {
  int64_t classes, inner;

  CORTADO_HD int64_t first(int64_t row) const { return row / inner * classes * inner + row % inner; }
};

template <typename T>
struct Forward {
  Rows rows;
  const T* x;
  T* y;

  CORTADO_HD void operator()(int64_t row) const {
    const int64_t at = rows.first(row);
    float most = x[at], sum = 0;
    for (int64_t c = 1; c < rows.classes; ++c) {
      const float value = x[at + c * rows.inner];
      most = value > most ? value : most;
    }
    for (int64_t c = 0; c < rows.classes; ++c) sum += expf(float(x[at + c * rows.inner]) - most);
    const float scale = 1 / sum;
    for (int64_t c = 0; c < rows.classes; ++c)
      y[at + c * rows.inner] = T(expf(float(x[at + c * rows.inner]) - most) * scale);
  }
};

template <typename T>
struct Backward {
  Rows rows;
  const T *y, *dy;
  T* dx;

  CORTADO_HD void operator()(int64_t row) const {
    const int64_t at = rows.first(row);
    float dot = 0;
    for (int64_t c = 0; c < rows.classes; ++c) dot += float(y[at + c * rows.inner]) * float(dy[at + c * rows.inner]);
    for (int64_t c = 0; c < rows.classes; ++c) {
      const int64_t i = at + c * rows.inner;
      dx[i] = T(float(y[i]) * (float(dy[i]) - dot));
    }
  }
};

class Plain final : public Softmax {
 public:
  explicit Plain(const SoftmaxRequest& request) : r_(request), rows_{request.classes, request.inner} {}

  std::string name() const override { return "plain"; }

  void forward(Context& context, const void* x, void* y, void*) override {
    with_float_type(r_.dtype, [&](auto type) {
      using T = decltype(type);
      for_each(context, count(), Forward<T>{rows_, static_cast<const T*>(x), static_cast<T*>(y)});
    });
  }
  void backward(Context& context, const void* y, const void* dy, void* dx, void*) override {
    with_float_type(r_.dtype, [&](auto type) {
      using T = decltype(type);
      for_each(context, count(),
               Backward<T>{rows_, static_cast<const T*>(y), static_cast<const T*>(dy), static_cast<T*>(dx)});
    });
  }

 private:
  int64_t count() const { return r_.classes > 0 ? r_.outer * r_.inner : 0; }

  SoftmaxRequest r_;
  Rows rows_;
};

}  // namespace

std::unique_ptr<Softmax> make_softmax_plain(const SoftmaxRequest& request, Context&, std::string&) {
  return std::make_unique<Plain>(request);
}

}  // namespace cortado::kernels
