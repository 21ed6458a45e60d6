#pragma once

// Operands of kernel tests: values in logical order on one side; device memory in any layout and float type, with guard
// areas, on the other.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/device/device_memory.h"
#include "core/half.h"
#include "core/rng.h"
#include "core/tensor.h"
#include "kernels/cpu_level.h"
#include "kernels/devices.h"
#include "kernels/post_ops.h"
#include "kernels/weight_format.h"

namespace cortado::kernels::testing {

using Values = std::vector<float>;

inline Values random_values(int64_t n, uint64_t key) {
  RandomStream random(key);
  Values values(static_cast<size_t>(n));
  for (float& v : values) v = random.uniform() - 0.5f;
  return values;
}

/// Contexts of every device kind that needs no GPU.
inline Context context_on(DeviceKind kind, int threads = 2) {
  return Context({.threads = threads, .device = {kind, 0}});
}

/// Simulates a CPU for which oneDNN generates no code: only there OpenBLAS candidates accept.
inline Context& without_generated_code(Context& context) {
  context.handle<CpuLevels>() = {CpuLevel::kUnknown, CpuLevel::kUnknown, /*onednn_generates=*/false};
  return context;
}

/// The devices for kernel tests: the simulated one, and a GPU if present.
inline std::vector<DeviceKind> devices() {
  std::string why_none;
  static const bool gpu = !cuda_devices(why_none).empty();
  return gpu ? std::vector{DeviceKind::kSimulated, DeviceKind::kCuda} : std::vector{DeviceKind::kSimulated};
}

/// The values rounded to a type.
inline Values rounded(Values values, DType dtype) {
  with_float_type(dtype, [&](auto type) {
    for (float& v : values) v = decltype(type)(v);
  });
  return values;
}

/// The rounding error of a type, absolute up to 1 and relative above.
inline double rounding(DType dtype) { return dtype == DType::kF16 ? 0x1p-11 : dtype == DType::kBF16 ? 0x1p-8 : 0; }

/// The post-ops: a ReLU or nothing.
inline PostOps relu_if(bool relu, bool sum = false) {
  return {.sum = sum, .activation = relu ? Activation::relu() : Activation()};
}

/// Device memory, initially NaN, between two guard areas that must not change.
class Fenced {
 public:
  Fenced(Context& context, int64_t bytes)
      : context_(context), floats_((bytes + 3) / 4), memory_(context, size_t(floats_ + 2 * kFence) * sizeof(float)) {
    std::vector<float> all(size_t(floats_ + 2 * kFence), kMark);
    std::memset(all.data() + kFence, 0xff, size_t(floats_) * sizeof(float));  // NaN in every type
    copy_to_device(context, memory_.data(), all.data(), memory_.bytes());
  }
  float* data() const { return reinterpret_cast<float*>(memory_.data()) + kFence; }
  void set(const void* host, int64_t bytes) { copy_to_device(context_, data(), host, size_t(bytes)); }
  /// The current values; checks the guard areas.
  std::vector<float> floats() const {
    std::vector<float> all(size_t(floats_ + 2 * kFence));
    copy_to_host(context_, all.data(), memory_.data(), memory_.bytes());
    for (int64_t i = 0; i < kFence; ++i) {
      if (all[size_t(i)] != kMark) ADD_FAILURE() << "written before the operand";
      if (all[size_t(kFence + floats_ + i)] != kMark) ADD_FAILURE() << "written past the operand";
    }
    return {all.begin() + kFence, all.end() - kFence};
  }
  void expect_intact() const { floats(); }

 private:
  static constexpr int64_t kFence = 256;
  static constexpr float kMark = 12345.0f;
  Context& context_;
  int64_t floats_;
  DeviceMemory memory_;
};

class Operand {
 public:
  Operand(Context& context, const TensorSpec& spec) : spec_(spec), memory_(context, spec.bytes()) {}
  Operand(Context& context, const TensorSpec& spec, const Values& values) : Operand(context, spec) {
    with_float_type(spec.dtype, [&](auto type) {
      std::vector<decltype(type)> stored(size_t(spec.elements()), 0.0f);  // padding lanes are zero
      for (size_t i = 0; i < values.size(); ++i) stored[size_t(place(int64_t(i)))] = values[i];
      memory_.set(stored.data(), spec.bytes());
    });
  }
  /// Of any type.
  float* data() const { return memory_.data(); }

  /// In logical order; checks the guard areas and that padding lanes are zero.
  Values values() const {
    Values values(size_t(spec_.shape.count()));
    double all = 0, used = 0;
    with_stored([&](const auto* stored) {
      for (size_t i = 0; i < values.size(); ++i) used += std::abs(values[i] = stored[place(int64_t(i))]);
      for (int64_t i = 0; i < spec_.elements(); ++i) all += std::abs(float(stored[i]));
    });
    EXPECT_NEAR(all, used, 1e-9 * used) << "padding lanes are not zero";
    return values;
  }
  /// Like values(), for NaN and infinity; does not check the padding lanes.
  Values values_of_any() const {
    Values values(size_t(spec_.shape.count()));
    with_stored([&](const auto* stored) {
      for (size_t i = 0; i < values.size(); ++i) values[i] = stored[place(int64_t(i))];
    });
    return values;
  }

 private:
  template <typename Use>
  void with_stored(const Use& use) const {
    const std::vector<float> raw = memory_.floats();
    with_float_type(spec_.dtype, [&](auto type) { use(reinterpret_cast<const decltype(type)*>(raw.data())); });
  }
  /// The stored position of element i in logical order.
  int64_t place(int64_t i) const {
    if (spec_.layout == Layout::kPlain) return i;
    const int64_t c = spec_.shape[1], inner = spec_.shape.count(2);
    const int64_t n = i / (c * inner), channel = i / inner % c, s = i % inner;
    if (spec_.layout == Layout::kChannelsLast) return (n * inner + s) * c + channel;
    return ((n * ((c + 15) / 16) + channel / 16) * inner + s) * 16 + channel % 16;
  }

  TensorSpec spec_;
  Fenced memory_;
};

/// 32-bit floats: statistics, biases.
inline Operand floats_of(Context& context, const Values& values) {
  return Operand(context, {{int64_t(values.size())}}, values);
}

/// A weight in a kernel's format; all NaN if not given.
class StoredWeight {
 public:
  StoredWeight(Context& context, const WeightFormat& format) : format_(format), memory_(context, format.bytes()) {}
  StoredWeight(Context& context, const WeightFormat& format, const Values& plain) : StoredWeight(context, format) {
    format_.from_plain(context, plain.data(), memory_.data());
  }
  float* data() const { return memory_.data(); }

  /// In logical order; checks the guard areas and that padding is zero, because solvers process it, too.
  Values plain(Context& context) const {
    const std::vector<float> stored = memory_.floats();
    Values values(size_t(format_.shape().count()));
    format_.to_plain(context, memory_.data(), values.data());
    const Fenced again(context, format_.bytes());
    format_.from_plain(context, values.data(), again.data());
    const std::vector<float> expected = again.floats();
    for (size_t i = 0; i < stored.size(); ++i)
      if (expected[i] != stored[i]) ADD_FAILURE() << "padding of a weight is " << stored[i];
    return values;
  }

 private:
  WeightFormat format_;
  Fenced memory_;
};

/// Absolute tolerance up to 1, relative above.
inline void expect_near(const Values& got, const std::vector<double>& expected, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << what << "[" << i << "]";
}

}  // namespace cortado::kernels::testing
