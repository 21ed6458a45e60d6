// Every activation in both implementations, for functors and in vector lanes, compared with its formula in double.

#include "kernels/post_ops.h"

#include <gtest/gtest.h>

#include "kernels/cpu/post_ops_lanes.h"
#include "tests/kernels/activation_reference.h"

namespace cortado::kernels {
namespace {

constexpr float kCeiling = 1.5f;

Activation activation_of(Activation::Kind kind) { return testing::activation_of(kind, kCeiling); }

/// Piecewise linear activations are exact; the others have the accuracy of floats and vector arithmetic.
void expect_is(float y, const Activation& activation, float v) {
  const double exact = testing::activation_reference(activation, v);
  if (activation.gates() || std::isinf(exact) || std::isnan(exact))
    EXPECT_EQ(y, float(exact)) << name_of(activation) << " of " << v;
  else
    EXPECT_NEAR(y, exact, 1e-6 * std::abs(exact) + 1e-30) << name_of(activation) << " of " << v;
}

/// Values of either sign around all boundaries of the activations.
std::vector<float> values() {
  std::vector<float> list = {0.0f, -0.0f, kCeiling, -kCeiling, 1e-40f, -1e-40f, 3e38f, -3e38f, 20.0f, -12.0f};
  for (int i = -40; i < 40; ++i) list.push_back(float(i) * 0.11f + 0.03f);
  return list;
}

/// Whether the gradient passes, from difference quotients on both sides of v; it does not at 0 and at the ceiling.
bool slopes(const Activation& activation, double v) {
  const double step = 1e-3, y = testing::activation_reference(activation, v);
  return testing::activation_reference(activation, v + step) > y &&
         y > testing::activation_reference(activation, v - step);
}

TEST(PostOps, FunctorsFollowTheFormulas) {
  for (const Activation::Kind kind : kAllActivations) {
    const Activation activation = activation_of(kind);
    for (const float v : values()) expect_is(activation(v), activation, v);
    EXPECT_TRUE(std::isnan(activation(NAN))) << name_of(activation);
  }
}

TEST(PostOps, LanesFollowTheFormulas) {
  for (const Activation::Kind kind : kAllActivations) {
    const Activation activation = activation_of(kind);
    const Vec16f ceiling = spread(activation.ceiling);
    for (const float v : values()) {
      const Vec16f y = activated(kind, ceiling, spread(v));
      for (int lane = 0; lane < kLanes; ++lane)
        if (activation.gates())
          EXPECT_EQ(std::bit_cast<uint32_t>(float(y[lane])), std::bit_cast<uint32_t>(activation(v)))
              << name_of(activation) << v;
        else
          expect_is(y[lane], activation, v);
    }
    EXPECT_TRUE(std::isnan(activated(kind, ceiling, spread(NAN))[3])) << name_of(activation);
  }
}

TEST(PostOps, ReportWhetherZeroStays) {
  for (const Activation::Kind kind : kAllActivations) {
    const Activation activation = activation_of(kind);
    EXPECT_EQ(activation.keeps_zero(), testing::activation_reference(activation, 0) == 0) << name_of(activation);
  }
}

TEST(PostOps, LanesKnowKindsAtCompileTime) {
  for (const Activation::Kind kind : kAllActivations) {
    int called = 0;
    with_activation(kind, [&](auto constant) { called += constant == kind; });
    EXPECT_EQ(called, 1);
  }
}

TEST(PostOps, GradientsPassWhereTheSlopeIsNotZero) {
  for (const Activation::Kind kind : kAllActivations) {
    const Activation activation = activation_of(kind);
    if (!activation || !activation.gates()) continue;
    const Vec16f ceiling = spread(activation.ceiling), dy = spread(-7);
    for (const float v : values()) {
      if (std::abs(v) > 1e3 || (std::abs(v) < 1e-3 && v != 0)) continue;  // no accurate difference quotient there
      const bool passes = slopes(activation, v);
      EXPECT_EQ(activation.passes(v), passes) << name_of(activation) << v;
      EXPECT_EQ(activation.passes(activation(v)), passes) << name_of(activation) << " from y, for " << v;
      EXPECT_EQ(passing(ceiling, spread(v)), passes ? 0xffff : 0) << name_of(activation) << v;
      EXPECT_EQ(passed(ceiling, spread(v), dy)[5], passes ? -7 : 0) << name_of(activation) << v;
    }
  }
}

TEST(PostOps, HaveAnOrder) {
  const ChannelAffine scale{.scales = true}, norm{.normalises = true, .eps = 1e-5f};
  const PostOp ops[] = {norm, scale, SumOfTwo(), Activation::clipped_relu(6)};
  PostOps all;
  for (const PostOp& op : ops) {
    const auto longer = all.followed_by(op);
    ASSERT_TRUE(longer.has_value());
    all = *longer;
  }
  EXPECT_EQ(all, (PostOps{{norm, scale}, true, Activation::clipped_relu(6)}));
  EXPECT_EQ(to_text(all), "affine, sum, relu6");
  for (const PostOp& op : ops) EXPECT_FALSE(all.followed_by(op).has_value()) << "after the activation";
  const PostOps sum{.sum = true};
  EXPECT_FALSE(sum.followed_by(scale).has_value());
  EXPECT_FALSE(sum.followed_by(SumOfTwo()).has_value());
  EXPECT_TRUE(sum.followed_by(Activation::relu()).has_value());
  EXPECT_TRUE(PostOps().empty());
  EXPECT_EQ(to_text(PostOps()), "");
}

}  // namespace
}  // namespace cortado::kernels
