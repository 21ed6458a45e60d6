// Our own softmax: rows of contiguous classes 16 classes at a time, other shapes 16 adjacent columns at a time. One
// thread computes each row, so results are bitwise independent of the number of threads.

#include <limits>

#include "core/threads/threads.h"
#include "kernels/cpu/floats.h"
#include "kernels/cpu/vec16f.h"
#include "kernels/softmax.h"

namespace cortado::kernels {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

void row_forward(const float* x, float* y, int64_t n) {
  float most = kLowest;
  for (int64_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  Vec16f sums{};
  for (int64_t i = 0; i < n; i += kLanes) {
    const int width = int(std::min<int64_t>(kLanes, n - i));
    const Vec16f e = exponential(load_some(x + i, width) - most);
    store_some(y + i, e, width);
    sums += load_some(y + i, width);
  }
  const float scale = 1 / sum_of(sums);
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

void row_backward(const float* y, const float* dy, float* dx, int64_t n) {
  Vec16f sums{};
  for (int64_t i = 0; i < n; i += kLanes) {
    const int width = int(std::min<int64_t>(kLanes, n - i));
    sums += load_some(y + i, width) * load_some(dy + i, width);
  }
  const float dot = sum_of(sums);
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}

/// `width` columns of `n` classes with a stride of `step` floats.
void strip_forward(const float* x, float* y, int64_t n, int64_t step, int width) {
  Vec16f most = spread(kLowest), sums{};
  for (int64_t c = 0; c < n; ++c) most = larger(load_some(x + c * step, width), most);
  for (int64_t c = 0; c < n; ++c) {
    const Vec16f e = exponential(load_some(x + c * step, width) - most);
    sums += e;
    store_some(y + c * step, e, width);
  }
  const Vec16f scale = 1.0f / sums;
  for (int64_t c = 0; c < n; ++c) store_some(y + c * step, load_some(y + c * step, width) * scale, width);
}

void strip_backward(const float* y, const float* dy, float* dx, int64_t n, int64_t step, int width) {
  Vec16f dot{};
  for (int64_t c = 0; c < n; ++c) dot += load_some(y + c * step, width) * load_some(dy + c * step, width);
  for (int64_t c = 0; c < n; ++c)
    store_some(dx + c * step, load_some(y + c * step, width) * (load_some(dy + c * step, width) - dot), width);
}

class Own final : public Softmax {
 public:
  explicit Own(const SoftmaxRequest& request) : r_(request) {}

  std::string name() const override { return "own"; }

  void forward(Context& context, const void* from, void* to, void*) override {
    const float* x = floats(from);
    float* y = floats(to);
    each(
        context, [=, n = r_.classes](int64_t at) { row_forward(x + at, y + at, n); },
        [=, n = r_.classes, step = r_.inner](int64_t at, int width) { strip_forward(x + at, y + at, n, step, width); });
  }
  void backward(Context& context, const void* result, const void* gradient, void* to, void*) override {
    const float *y = floats(result), *dy = floats(gradient);
    float* dx = floats(to);
    each(
        context, [=, n = r_.classes](int64_t at) { row_backward(y + at, dy + at, dx + at, n); },
        [=, n = r_.classes, step = r_.inner](int64_t at, int width) {
          strip_backward(y + at, dy + at, dx + at, n, step, width);
        });
  }

 private:
  /// Calls row(offset) for every row if inner is 1, else strip(offset, width) for every 16 columns.
  template <typename Row, typename Strip>
  void each(Context& context, const Row& row, const Strip& strip) const {
    const int64_t strips = r_.inner == 1 ? 1 : (r_.inner + kLanes - 1) / kLanes, width = r_.inner == 1 ? 1 : kLanes;
    const int64_t at_least = 1 + 4096 / std::max<int64_t>(1, r_.classes * width);
    parallel_ranges(context, r_.outer * strips, at_least, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % strips * kLanes, at = i / strips * r_.classes * r_.inner + column;
        if (r_.inner == 1)
          row(at);
        else
          strip(at, int(std::min<int64_t>(kLanes, r_.inner - column)));
      }
    });
  }

  SoftmaxRequest r_;
};

}  // namespace

std::unique_ptr<Softmax> make_softmax_native(const SoftmaxRequest& request, Context&, std::string& why) {
  if (!takes(request.dtype, why)) return nullptr;
  return std::make_unique<Own>(request);
}

}  // namespace cortado::kernels
