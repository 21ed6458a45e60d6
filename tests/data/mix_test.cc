#include "data/augment/mix.h"

#include <cmath>

#include "core/device/device_memory.h"
#include "core/half.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

constexpr int kClasses = 4, kHeight = 5, kWidth = 6, kChannels = 2;

MixPlan plan_of(float mixup, float cutmix) {
  MixPlan plan;
  plan.classes = kClasses;
  plan.mixup_alpha = mixup;
  plan.cutmix_alpha = cutmix;
  return plan;
}

std::vector<float> some_values(size_t n) {
  RandomStream random(4);
  std::vector<float> values(n);
  for (float& value : values) value = random.uniform() * 200;
  return values;
}

/// A reference for a pair's mix.
std::vector<float> expected_mix(const std::vector<float>& x, int n, const std::vector<MixParams>& pairs) {
  std::vector<float> y = x;
  for (int i = 0; i < n; ++i) {
    const int other = n - 1 - i;
    if (other == i) continue;
    const MixParams& params = pairs[size_t(std::min(i, other))];
    for (int c = 0; c < kChannels; ++c)
      for (int row = 0; row < kHeight; ++row)
        for (int column = 0; column < kWidth; ++column) {
          const auto at = [&](int sample) {
            return size_t(((sample * kChannels + c) * kHeight + row) * kWidth + column);
          };
          const bool inside = row >= params.top && row < params.top + params.height && column >= params.left &&
                              column < params.left + params.width;
          if (params.height > 0)
            y[at(i)] = inside ? x[at(other)] : x[at(i)];
          else
            y[at(i)] = params.share * x[at(i)] + (1 - params.share) * x[at(other)];
        }
  }
  return y;
}

TEST(Mix, PairsAreMixedInBothDirections) {
  for (const int n : {1, 4, 5})
    for (const MixPlan& plan : {plan_of(0.4f, 0), plan_of(0, 1), plan_of(0.2f, 1)}) {
      const std::vector<float> x = some_values(size_t(n * kChannels * kHeight * kWidth));
      std::vector<MixParams> params;
      for (int i = 0; i < mix_pairs(n); ++i) params.push_back(draw_mix(plan, kHeight, kWidth, 7, uint64_t(i)));
      std::vector<float> labels(size_t(n), 0), y = x, shares(size_t(n * kClasses));
      for (int i = 0; i < n; ++i) labels[size_t(i)] = float(i % 3);
      Context context(2);
      mix_batch(context, params.data(), plain_view({n, kChannels, kHeight, kWidth}, y.data()), labels.data(), kClasses,
                shares.data());
      EXPECT_EQ(y, expected_mix(x, n, params));
      for (int i = 0; i < n; ++i) {
        double sum = 0;
        std::vector<float> expected(kClasses);
        const int other = n - 1 - i;
        const float share = other == i ? 1 : params[size_t(std::min(i, other))].share;
        expected[size_t(i % 3)] += share;
        expected[size_t(other % 3)] += 1 - share;
        for (int k = 0; k < kClasses; ++k) {
          EXPECT_NEAR(shares[size_t(i * kClasses + k)], expected[size_t(k)], 1e-6);
          sum += shares[size_t(i * kClasses + k)];
        }
        EXPECT_NEAR(sum, 1, 1e-6);
      }
    }
}

TEST(Mix, IsTheSameOnADeviceInItsOwnLayoutAndType) {
  constexpr int n = 4;
  const std::vector<MixParams> params = {draw_mix(plan_of(1, 0), kHeight, kWidth, 3, 0),
                                         draw_mix(plan_of(0, 1), kHeight, kWidth, 3, 1)};
  const std::vector<float> x = some_values(n * kChannels * kHeight * kWidth);
  const std::vector<float> expected = expected_mix(x, n, params), labels = {0, 1, 2, 3};
  std::vector<Half> sent(x.size());
  const auto last = [](size_t i) {  // the index in channels-last layout
    const size_t area = kHeight * kWidth, sample = i / (kChannels * area), c = i / area % kChannels, pixel = i % area;
    return (sample * area + pixel) * kChannels + c;
  };
  for (size_t i = 0; i < x.size(); ++i) sent[last(i)] = Half(x[i]);
  Context context({.device = {DeviceKind::kSimulated, 0}});
  DeviceMemory there(context, sent.size() * 2), label(context, 16), share(context, n * kClasses * 4),
      draw(context, sizeof(MixParams) * 2);
  copy_to_device(context, there.data(), sent.data(), sent.size() * 2);
  copy_to_device(context, label.data(), labels.data(), 16);
  copy_to_device(context, draw.data(), params.data(), sizeof(MixParams) * 2);
  Tensor tensor{{{n, kChannels, kHeight, kWidth}, DType::kF16, Layout::kChannelsLast}, context.device, there.data()};
  mix_batch(context, reinterpret_cast<const MixParams*>(draw.data()), tensor,
            reinterpret_cast<const float*>(label.data()), kClasses, reinterpret_cast<float*>(share.data()));
  copy_to_host(context, sent.data(), there.data(), sent.size() * 2);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(float(sent[last(i)]), expected[i], 0.15) << i;
}

TEST(Mix, SharesFollowTheBetaDistribution) {
  for (const float alpha : {0.2f, 1.0f, 4.0f}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 4000;
    for (int i = 0; i < kDraws; ++i) {
      const MixParams params = draw_mix(plan_of(alpha, 0), 8, 8, 11, uint64_t(i));
      ASSERT_GE(params.share, 0);
      ASSERT_LE(params.share, 1);
      sum += params.share;
      squares += params.share * params.share;
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    EXPECT_NEAR(mean, 0.5, 0.02);
    EXPECT_NEAR(variance, 1 / (4 * (2 * double(alpha) + 1)), 0.008) << alpha;
  }
}

TEST(Mix, RatioIsThatOfTheRemainingArea) {
  for (uint64_t i = 0; i < 200; ++i) {
    const MixParams params = draw_mix(plan_of(0, 1), 20, 30, 5, i);
    EXPECT_NEAR(params.share, 1 - params.height * params.width / 600.0, 1e-6);
    EXPECT_LE(params.top + params.height, 20);
    EXPECT_LE(params.left + params.width, 30);
  }
}

TEST(Mix, HasItsProbability) {
  MixPlan plan = plan_of(1, 1);
  plan.prob = 0.5f;
  plan.cutmix_share = 0.25f;
  int none = 0, cut = 0, mixed = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    const MixParams params = draw_mix(plan, 64, 64, 5, i);
    ++(params.height > 0 ? cut : params.share < 1 ? mixed : none);
  }
  EXPECT_NEAR(none, 2000, 150);
  EXPECT_NEAR(cut, 500, 90);
  EXPECT_NEAR(mixed, 1500, 140);
}

}  // namespace

}  // namespace cortado::data::testing
