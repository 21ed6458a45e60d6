#pragma once

// Operands of kernel tests: values in the user's order on one side, memory in any layout with a fence around it on the
// other.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/arena.h"
#include "core/rng.h"
#include "core/tensor.h"
#include "kernels/weight_format.h"

namespace cortado::kernels::testing {

using Values = std::vector<float>;

inline Values random_values(int64_t n, uint64_t key) {
  RandomStream random(key);
  Values values(static_cast<size_t>(n));
  for (float& v : values) v = random.uniform() - 0.5f;
  return values;
}

/// Memory for some floats, all NaN at first, between two fences that must stay as they are.
class Fenced {
 public:
  explicit Fenced(int64_t bytes) : floats_((bytes + 3) / 4), arena_(size_t(floats_ + 2 * kFence) * sizeof(float)) {
    float* all = reinterpret_cast<float*>(arena_.data());
    for (int64_t i = 0; i < floats_ + 2 * kFence; ++i) all[i] = i < kFence || i >= floats_ + kFence ? kMark : NAN;
  }
  float* data() const { return reinterpret_cast<float*>(arena_.data()) + kFence; }
  void expect_intact() const {
    for (int64_t i = 1; i <= kFence; ++i) {
      ASSERT_EQ(data()[-i], kMark) << "written before the operand";
      ASSERT_EQ(data()[floats_ + i - 1], kMark) << "written past the operand";
    }
  }

 private:
  static constexpr int64_t kFence = 256;
  static constexpr float kMark = 12345.0f;
  int64_t floats_;
  Arena arena_;
};

/// A tensor in its layout.
class Operand {
 public:
  explicit Operand(const TensorSpec& spec) : spec_(spec), memory_(spec.bytes()) {}
  Operand(const TensorSpec& spec, const Values& values) : Operand(spec) {
    std::memset(memory_.data(), 0, size_t(spec.bytes()));  // padding lanes are zero
    for (size_t i = 0; i < values.size(); ++i) memory_.data()[place(int64_t(i))] = values[i];
  }
  float* data() const { return memory_.data(); }

  /// In the user's order; the fence is intact and the padding lanes are zero.
  Values values() const {
    memory_.expect_intact();
    Values values(size_t(spec_.shape.count()));
    double all = 0, used = 0;
    for (size_t i = 0; i < values.size(); ++i) used += std::abs(values[i] = memory_.data()[place(int64_t(i))]);
    for (int64_t i = 0; i < spec_.elements(); ++i) all += std::abs(memory_.data()[i]);
    EXPECT_NEAR(all, used, 1e-9 * used) << "padding lanes are not zero";
    return values;
  }

 private:
  /// Where element i of the user's order lies.
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

/// A weight as a kernel stores it; all NaN when it is not given.
class StoredWeight {
 public:
  StoredWeight(Context&, const WeightFormat& format) : format_(format), memory_(format.bytes()) {}
  StoredWeight(Context& context, const WeightFormat& format, const Values& plain) : StoredWeight(context, format) {
    format_.from_plain(context, plain.data(), memory_.data());
  }
  float* data() const { return memory_.data(); }

  /// In the user's order; the fence is intact and what the storage pads with is zero: solvers work on it, too.
  Values plain(Context& context) const {
    memory_.expect_intact();
    Values values(size_t(format_.shape().count()));
    format_.to_plain(context, memory_.data(), values.data());
    const Fenced again(format_.bytes());
    format_.from_plain(context, values.data(), again.data());
    for (int64_t i = 0; i < format_.bytes() / 4; ++i)
      if (again.data()[i] != data()[i]) ADD_FAILURE() << "padding of a weight is " << data()[i];
    return values;
  }

 private:
  WeightFormat format_;
  Fenced memory_;
};

/// Absolute up to 1, relative above.
inline void expect_near(const Values& got, const std::vector<double>& expected, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << what << "[" << i << "]";
}

}  // namespace cortado::kernels::testing
