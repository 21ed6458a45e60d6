#include "data/transform_batch.h"

#include "fixtures.h"

namespace cortado::data::testing {

namespace {

TEST(TransformBatch, AgreesWithOneSampleAtATime) {
  constexpr int kBatch = 6, kSide = 9;
  TransformPlan plan;
  plan.crop_h = 7;
  plan.crop_w = kSide;
  plan.random_crop = plan.mirror = true;
  plan.mean_values = {1, 2, 3};
  plan.scale = 0.5f;
  RandomStream random(3);
  std::vector<uint8_t> bytes;
  std::vector<RawSample> samples;
  std::vector<SampleDraw> draws;
  std::vector<float> expected(size_t(kBatch * 3 * 7 * kSide));
  for (int i = 0; i < kBatch; ++i) {
    RawSample raw{int64_t(bytes.size()), 3, 8 + i, kSide + i, i % 2 != 0, false};
    for (int k = 0; k < raw.channels * raw.height * raw.width; ++k) bytes.push_back(uint8_t(random.next_word()));
    draws.push_back(draw_sample(plan, raw.channels, raw.height, raw.width, 1, 0, uint64_t(i)));
    samples.push_back(raw);
  }
  for (int i = 0; i < kBatch; ++i) {
    const RawSample& raw = samples[size_t(i)];
    const Sample sample{raw.channels, raw.height, raw.width, bytes.data() + raw.offset, nullptr, raw.interleaved};
    transform(sample, plan, draws[size_t(i)], &expected[size_t(i * 3 * 7 * kSide)]);
  }
  Context context(2);
  const RawBatch batch{kBatch, bytes.data(), samples.data(), draws.data(), mean_floats(plan).data()};
  std::vector<float> y(expected.size());
  transform_batch(context, batch, plan, plain_view({kBatch, 3, 7, kSide}, y.data()));
  EXPECT_EQ(y, expected);
}

}  // namespace

}  // namespace cortado::data::testing
