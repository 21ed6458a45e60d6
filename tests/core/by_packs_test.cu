// Vectorized functors on the simulated device, compared with single elements on the CPU, for any length and alignment.

#include <gtest/gtest.h>

#include <vector>

#include "core/device/device_memory.h"
#include "core/half.h"
#include "core/loops/for_each.h"

namespace cortado {
namespace {

template <typename T, typename Y>
struct Mixed {
  const T* a;
  const float* b;
  Y* y;
  uint8_t* sign;
  using Arrays = ByPacks<In<&Mixed::a>, In<&Mixed::b>, InOut<&Mixed::y>, Out<&Mixed::sign>>;
  CORTADO_HD void operator()(int64_t i) const {
    const float v = float(a[i]) * b[i] + float(y[i]);
    sign[i] = v < 0;
    y[i] = v;
  }
};

template <typename T>
struct AddChannel {
  const T* x;
  T* y;
  using Arrays = ByPacks<In<&AddChannel::x>, Out<&AddChannel::y>>;
  CORTADO_HD void operator()(int64_t i, int64_t c) const { y[i] = float(x[i]) + 100 * float(c); }
};

template <typename T>
std::vector<T> numbers(int64_t n, int factor) {
  std::vector<T> list;
  for (int64_t i = 0; i < n; ++i) list.push_back(T(float(i * factor % 23 - 11)));
  return list;
}

/// An array in device memory that begins `skipped` elements after an aligned address.
template <typename T>
class Placed {
 public:
  Placed(Context& context, const std::vector<T>& values, int64_t skipped)
      : context_(context), count_(values.size()), memory_(context, (count_ + size_t(skipped)) * sizeof(T) + 1) {
    data = reinterpret_cast<T*>(memory_.data()) + skipped;
    copy_to_device(context, data, values.data(), count_ * sizeof(T));
  }
  std::vector<T> values() const {
    std::vector<T> list(count_);
    copy_to_host(context_, list.data(), data, count_ * sizeof(T));
    return list;
  }
  T* data;

 private:
  Context& context_;
  size_t count_;
  DeviceMemory memory_;
};

Context on(DeviceKind kind) { return Context({.device = {kind, 0}}); }

template <typename T>
std::vector<float> floats(const std::vector<T>& list) {
  return {list.begin(), list.end()};
}

template <typename T, typename Y>
std::vector<float> mixed(DeviceKind kind, int64_t n, int64_t skipped) {
  Context context = on(kind);
  const Placed<T> a(context, numbers<T>(n, 5), skipped);
  const Placed<float> b(context, numbers<float>(n, 3), 0);
  const Placed<Y> y(context, numbers<Y>(n, 7), 0);
  const Placed<uint8_t> sign(context, std::vector<uint8_t>(size_t(n), 9), skipped);
  const Mixed<T, Y> functor{a.data, b.data, y.data, sign.data};
  EXPECT_EQ(fits_packs(functor), skipped * int64_t(sizeof(T)) % 16 == 0 && skipped % 16 == 0);
  for_each(context, n, functor);
  std::vector<float> all = floats(y.values());
  for (const uint8_t s : sign.values()) all.push_back(float(s));
  return all;
}

template <typename T, typename Y>
void expect_same_mixed() {
  for (int64_t n = 0; n < 40; ++n)
    for (const int64_t skipped : {0, 1, 3, 16})
      EXPECT_EQ((mixed<T, Y>(DeviceKind::kSimulated, n, skipped)), (mixed<T, Y>(DeviceKind::kCpu, n, skipped)))
          << n << " elements, " << skipped << " skipped";
}

TEST(ByPacks, EqualsSingleElements) {
  static_assert(Mixed<Half, float>::Arrays::kWidth == 8 && AddChannel<float>::Arrays::kWidth == 4);
  expect_same_mixed<Half, float>();
  expect_same_mixed<float, BFloat16>();
  expect_same_mixed<float, float>();
}

template <typename T>
std::vector<float> with_channels(DeviceKind kind, const ChannelView& view) {
  Context context = on(kind);
  const int64_t n = view.outer * view.channels * view.inner;
  const Placed<T> x(context, numbers<T>(n, 5), 0), y(context, std::vector<T>(size_t(n), T(0.0f)), 0);
  const AddChannel<T> functor{x.data, y.data};
  const int64_t row = view.layout == Layout::kPlain ? view.inner : view.channels;
  EXPECT_EQ(packs_fit_rows(view, functor), row % AddChannel<T>::Arrays::kWidth == 0);
  for_each_channel(context, view, functor);
  return floats(y.values());
}

TEST(ByPacks, PassesEachElementsChannel) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
    for (const int64_t channels : {1, 4, 12, 16, 24})
      for (const int64_t inner : {1, 4, 8, 49}) {
        const ChannelView view{3, channels, inner, layout};
        EXPECT_EQ(with_channels<BFloat16>(DeviceKind::kSimulated, view),
                  with_channels<BFloat16>(DeviceKind::kCpu, view));
        EXPECT_EQ(with_channels<float>(DeviceKind::kSimulated, view), with_channels<float>(DeviceKind::kCpu, view));
      }
}

}  // namespace
}  // namespace cortado
