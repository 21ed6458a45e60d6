#include "data/augment/transform.h"

#include <set>

#include "core/error.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {

namespace {

/// The part of the image that a plan used, found by comparison with every possible part.
struct Found {
  int top, left;
  bool mirrored;
};

double source(const Sample& sample, int c, int y, int x) {
  const size_t at = sample.interleaved ? size_t((y * sample.width + x) * sample.channels + c)
                                       : size_t((c * sample.height + y) * sample.width + x);
  return sample.bytes ? sample.bytes[at] : double(sample.floats[at]);
}

float expected_at(const Sample& sample, const TransformPlan& plan, const Found& found, int c, int y, int x, int w) {
  const int from_y = found.top + y, from_x = found.left + (found.mirrored ? w - 1 - x : x);
  float mean = 0;
  if (plan.mean)
    mean = plan.mean->values[size_t((c * sample.height + from_y) * sample.width + from_x)];
  else if (!plan.mean_values.empty())
    mean = plan.mean_values[plan.mean_values.size() == 1 ? 0 : size_t(c)];
  return (float(source(sample, c, from_y, from_x)) - mean) * plan.scale;
}

bool matches(const Sample& sample, const TransformPlan& plan, const Found& found, int h, int w,
             const std::vector<float>& out) {
  size_t i = 0;
  for (int c = 0; c < sample.channels; ++c)
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x)
        if (out[i++] != expected_at(sample, plan, found, c, y, x, w)) return false;
  return true;
}

/// Fails if the result is not exactly one of the possible crops.
Found find(const Sample& sample, const TransformPlan& plan, uint64_t index) {
  const auto [h, w] = output_size(plan, sample);
  std::vector<float> out(size_t(sample.channels * h * w), -1e9f);
  transform(sample, plan, draw_params(plan, sample.channels, sample.height, sample.width, 5, 2, index), out.data());
  for (int top = 0; top <= sample.height - h; ++top)
    for (int left = 0; left <= sample.width - w; ++left)
      for (const bool mirrored : {false, true})
        if (matches(sample, plan, {top, left, mirrored}, h, w, out)) return {top, left, mirrored};
  ADD_FAILURE() << "the result is not a crop of the image";
  return {-1, -1, false};
}

struct Samples {
  Samples(int channels, int height, int width) {
    RandomStream random(9);
    bytes.resize(size_t(channels * height * width));
    for (uint8_t& byte : bytes) byte = uint8_t(random.next_word());
    for (const uint8_t byte : bytes) floats.push_back(float(byte) / 3);
    planar = {channels, height, width, bytes.data(), nullptr, false};
    interleaved = {channels, height, width, bytes.data(), nullptr, true};
    of_floats = {channels, height, width, nullptr, floats.data(), false};
  }
  std::vector<uint8_t> bytes;
  std::vector<float> floats;
  Sample planar, interleaved, of_floats;
};

std::shared_ptr<const MeanImage> some_mean(int channels, int height, int width) {
  auto mean = std::make_shared<MeanImage>();
  *mean = {"mean.binaryproto", channels, height, width, {}};
  for (int i = 0; i < channels * height * width; ++i) mean->values.push_back(float(i % 101) * 1.25f);
  return mean;
}

TEST(Transform, AgreesWithSimpleLoops) {
  for (const int channels : {1, 2, 3}) {
    const Samples samples(channels, 12, 19);
    for (const Sample& sample : {samples.planar, samples.interleaved, samples.of_floats})
      for (const int crop : {0, 7, 12})
        for (const int mean : {0, 1, 2, 3}) {
          TransformPlan plan;
          plan.crop_h = plan.crop_w = crop;
          plan.random_crop = crop > 0;
          plan.mirror = true;
          plan.scale = 0.0390625f;
          if (mean == 1) plan.mean_values = {104.5f};
          if (mean == 2) plan.mean_values.assign(size_t(channels), 117.25f);
          if (mean == 3) plan.mean = some_mean(channels, 12, 19);
          for (uint64_t index = 0; index < 4; ++index) find(sample, plan, index);
        }
  }
}

TEST(Transform, TestingTakesTheCentre) {
  const Samples samples(3, 12, 19);
  TransformPlan plan;
  plan.crop_h = 7;
  plan.crop_w = 8;
  const Found found = find(samples.planar, plan, 0);
  EXPECT_EQ(found.top, 2);   // (12 - 7) / 2
  EXPECT_EQ(found.left, 5);  // (19 - 8) / 2
  EXPECT_FALSE(found.mirrored);
}

TEST(Transform, DrawsCoverAllPositionsAndDependOnTheSample) {
  const Samples samples(1, 8, 9);
  TransformPlan plan;
  plan.crop_h = plan.crop_w = 6;
  plan.random_crop = plan.mirror = true;
  std::set<std::pair<int, int>> corners;
  int mirrored = 0;
  for (uint64_t index = 0; index < 400; ++index) {
    const Found found = find(samples.planar, plan, index);
    corners.insert({found.top, found.left});
    mirrored += found.mirrored;
  }
  EXPECT_EQ(corners.size(), 12u);  // 3 rows x 4 columns
  EXPECT_NEAR(mirrored, 200, 50);
}

TEST(Transform, IsAFunctionOfSeedEpochAndIndex) {
  const Samples samples(1, 30, 30);
  TransformPlan plan;
  plan.crop_h = plan.crop_w = 4;
  plan.random_crop = plan.mirror = true;
  const auto run = [&](uint64_t seed, uint64_t epoch, uint64_t index) {
    std::vector<float> out(16);
    transform(samples.planar, plan, draw_params(plan, 1, 30, 30, seed, epoch, index), out.data());
    return out;
  };
  EXPECT_EQ(run(1, 2, 3), run(1, 2, 3));
  EXPECT_NE(run(1, 2, 3), run(2, 2, 3));
  EXPECT_NE(run(1, 2, 3), run(1, 3, 3));
  EXPECT_NE(run(1, 2, 3), run(1, 2, 4));
}

TEST(Transform, ReportsWhatDoesNotFit) {
  const Samples samples(3, 12, 19);
  TransformPlan plan;
  plan.crop_h = plan.crop_w = 13;
  expect_sample_error("smaller than the crop of 13x13", [&] { output_size(plan, samples.planar); });
  plan = {};
  plan.mean_values = {1, 2};
  expect_sample_error("2 mean values", [&] { output_size(plan, samples.planar); });
  plan = {};
  plan.mean = some_mean(3, 12, 12);
  expect_sample_error("3x12x12", [&] { output_size(plan, samples.planar); });
}

void expect_field(const std::string& field, const std::function<void(caffe::TransformationParameter&)>& set) {
  caffe::TransformationParameter param;
  set(param);
  try {
    make_transform_plan(param, caffe::TRAIN);
    ADD_FAILURE() << "no error for " << field;
  } catch (const FieldError& error) {
    EXPECT_EQ(error.field(), field) << error.what();
  }
}

TEST(TransformPlan, NamesTheWrongField) {
  expect_field("transform_param.mean_value", [](auto& param) {
    param.set_mean_file("x");
    param.add_mean_value(1);
  });
  expect_field("transform_param.force_gray", [](auto& param) {
    param.set_force_color(true);
    param.set_force_gray(true);
  });
  expect_field("transform_param.crop_h", [](auto& param) { param.set_crop_h(5); });
  expect_field("transform_param.crop_size", [](auto& param) { param.set_crop_size(4000000000u); });
}

TEST(TransformPlan, CropsAtRandomOnlyInTraining) {
  caffe::TransformationParameter param;
  param.set_crop_size(5);
  EXPECT_TRUE(make_transform_plan(param, caffe::TRAIN).random_crop);
  EXPECT_FALSE(make_transform_plan(param, caffe::TEST).random_crop);
}

}  // namespace

}  // namespace cortado::data::testing
