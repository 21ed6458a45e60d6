// Geometry against an independent reference in double precision: positions by the draw's affine map, kernels by their
// formulas.
#include "data/augment/augment.h"

#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "data/augment/transform_rows.h"
#include "tests/data/augment_fixtures.h"

namespace cortado::data::testing {

namespace {

struct Place {
  double x, y;
};

Place place_of(const AugmentParams& params, int x, int y) {
  const double one = 4294967296.0;
  const auto along = [&](const int64_t* m) { return (double(m[0]) * x + double(m[1]) * y + double(m[2])) / one; };
  return {along(params.map), along(params.map + 3)};
}

double lanczos4(double t) {
  if (t == 0) return 1;
  const double a = std::numbers::pi * t;
  return std::abs(t) < 4 ? std::sin(a) / a * std::sin(a / 4) / (a / 4) : 0;
}

double cubic_reference(double t) {
  t = std::abs(t);
  const double a = -0.75;
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
}

/// The weight at distance d for a step of the result, by definition, not by the implementation.
double weight(const AugmentParams& params, double step, double d) {
  const double most = params.map[1] != 0 || params.map[3] != 0 ? 2 : 1;
  const double stretch = params.smooth && step > most ? step : 1.0;
  const auto tent = [](double t) { return std::max(0.0, 1 - std::abs(t)); };
  if (params.blur > 0) {
    const double variance = std::pow(params.blur * step, 2) + stretch * stretch / 6;
    return std::abs(d) < 3 * std::sqrt(variance) + 1 ? std::exp(-d * d / (2 * variance)) : 0;
  }
  if (params.filter == Filter::kCubic) return cubic_reference(d / stretch);
  if (params.filter == Filter::kLanczos) return lanczos4(d / stretch);
  if (params.filter == Filter::kArea && step > 1)
    return std::max(0.0, std::min(d + 0.5, step / 2) - std::max(d - 0.5, -step / 2));
  return tent(d / stretch);
}

double reference(const Picture& picture, const AugmentParams& params, int c, int x, int y) {
  const Sample& sample = picture.sample;
  Place at = place_of(params, x, y);
  if (at.x < -0.5 || at.x >= sample.width - 0.5) at.x = at.x < 0 ? 0 : sample.width - 1;  // border: EDGE
  if (at.y < -0.5 || at.y >= sample.height - 0.5) at.y = at.y < 0 ? 0 : sample.height - 1;
  const double one = 4294967296.0;
  const double step_x = std::hypot(double(params.map[0]), double(params.map[1])) / one;
  const double step_y = std::hypot(double(params.map[3]), double(params.map[4])) / one;
  double sum = 0, total = 0;
  for (int row = int(std::floor(at.y)) - 14; row <= int(at.y) + 14; ++row)
    for (int column = int(std::floor(at.x)) - 14; column <= int(at.x) + 14; ++column) {
      const double w = weight(params, step_y, row - at.y) * weight(params, step_x, column - at.x);
      if (w == 0) continue;
      total += w;
      sum += w * picture.at(c, std::clamp(row, 0, sample.height - 1), std::clamp(column, 0, sample.width - 1));
    }
  const double value = sum / total;
  return sample.bytes ? std::clamp(value, 0.0, 255.0) : value;
}

void expect_reference(const Picture& picture, const TransformPlan& plan, double tolerance, uint64_t index = 0) {
  const AugmentParams params = draw_of(plan, picture.sample, index);
  const std::vector<float> y = made(picture.sample, plan, params);
  size_t i = 0;
  double worst = 0;
  for (int c = 0; c < picture.sample.channels; ++c)
    for (int row = 0; row < params.out_height; ++row)
      for (int column = 0; column < params.out_width; ++column)
        worst = std::max(worst, std::abs(y[i++] - reference(picture, params, c, column, row)));
  EXPECT_LT(worst, tolerance);
}

TEST(Augment, ResizesAsTheFiltersAreDefined) {
  for (const char* filter : {"LINEAR", "CUBIC", "AREA", "LANCZOS"})
    for (const char* smooth : {"true", "false"})
      for (const int size : {9, 17, 31, 40})
        for (const bool interleaved : {false, true})
          for (const bool floats : {false, true}) {
            SCOPED_TRACE(std::string(filter) + " " + smooth + " " + std::to_string(size));
            const Picture picture(3, 24, 31, interleaved, floats);
            const TransformPlan plan = plan_of("augment { short_side: " + std::to_string(size) + " filter: " + filter +
                                               " smooth: " + smooth + " }");
            expect_reference(picture, plan, 0.06);  // weights have 14 bits
          }
}

TEST(Augment, NearestTakesTheNearestPixel) {
  const Picture picture(1, 4, 4);
  const std::vector<float> y = [&] {
    const TransformPlan plan = plan_of("augment { short_side: 8 filter: NEAREST }");
    return made(picture.sample, plan, draw_of(plan, picture.sample));
  }();
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column)
      EXPECT_EQ(y[size_t(row * 8 + column)], picture.at(0, row / 2, column / 2));
}

TEST(Augment, AConstantStaysConstant) {
  Picture picture(3, 20, 20);
  for (uint8_t& byte : picture.bytes) byte = 201;
  for (const char* options : {"short_side: 13", "short_side: 33 filter: LANCZOS", "short_side: 7 filter: AREA",
                              "rotate: 30 border: EDGE", "blur { prob: 1 }", "short_side: 40 filter: CUBIC"}) {
    const TransformPlan plan = plan_of(std::string("augment { ") + options + " }");
    for (const float value : made(picture.sample, plan, draw_of(plan, picture.sample)))
      EXPECT_EQ(value, 201) << options;
  }
}

TEST(Augment, RotatesShearsAndZoomsAboutTheMiddle) {
  const Picture picture(3, 33, 29, true, false, true);
  for (const char* options : {"rotate: 40", "shear: 20", "translate: 0.3", "zoom_min: 0.5 zoom_max: 2",
                              "rotate: 180 shear: 10 translate: 0.1 zoom_min: 0.7 zoom_max: 1.5"})
    for (uint64_t index = 0; index < 5; ++index)
      expect_reference(picture, plan_of(std::string("augment { border: EDGE ") + options + " }"), 0.06, index);
}

/// The draw's rotation in degrees, computed from its map.
double turn_of(const AugmentParams& params) {
  return std::atan2(double(params.map[3]), double(params.map[0])) * 180 / std::numbers::pi;
}

TEST(Augment, RotationKeepsItsRangeAndTheMiddle) {
  const Picture picture(1, 21, 21);
  const TransformPlan plan = plan_of("augment { rotate: 15 }");
  double least = 0, most = 0;
  for (uint64_t index = 0; index < 300; ++index) {
    const AugmentParams params = draw_of(plan, picture.sample, index);
    least = std::min(least, turn_of(params));
    most = std::max(most, turn_of(params));
    const Place middle = place_of(params, 10, 10);
    EXPECT_NEAR(middle.x, 10, 1e-6);
    EXPECT_NEAR(middle.y, 10, 1e-6);
  }
  EXPECT_NEAR(least, -15, 0.5);
  EXPECT_NEAR(most, 15, 0.5);
}

TEST(Augment, RandomPartsHaveTheRequestedAreasAndAspects) {
  const TransformPlan plan = plan_of("crop_size: 32 augment { resized_crop { min_area: 0.2 max_area: 0.6 } }");
  std::set<int> lefts;
  for (uint64_t index = 0; index < 300; ++index) {
    const AugmentParams params = draw_params(plan, 3, 200, 300, 1, 0, index);
    const double width = double(params.map[0]) * 32 / 4294967296.0, height = double(params.map[4]) * 32 / 4294967296.0;
    EXPECT_GT(width * height / 60000, 0.19);
    EXPECT_LT(width * height / 60000, 0.61);
    EXPECT_GT(width / height, 0.74);
    EXPECT_LT(width / height, 1.35);
    const SourceWindow window = source_window(params);
    EXPECT_GE(window.left, 0);
    EXPECT_LE(window.left + window.width, 300);
    EXPECT_LE(window.top + window.height, 200);
    EXPECT_NEAR(window.width, width, 2 * std::max(1.0, width / 32) + 2);
    lefts.insert(window.left);
  }
  EXPECT_GT(lefts.size(), 50u);
}

TEST(Augment, AnImpossiblePartIsTheLargestPossible) {
  const TransformPlan plan =
      plan_of("crop_size: 8 augment { resized_crop { min_area: 0.9 min_aspect: 1 max_aspect: 1 } }");
  const AugmentParams params = draw_params(plan, 1, 10, 100, 1, 0, 0);
  EXPECT_NEAR(double(params.map[0]) / 4294967296.0, 10.0 / 8, 1e-9);
  EXPECT_NEAR(place_of(params, 0, 0).x, 45 + 0.5 * 10 / 8 - 0.5, 1e-9);
}

TEST(Augment, TestingTakesTheCentreOfTheResizedImage) {
  const TransformPlan plan =
      plan_of("crop_size: 224 augment { short_side: 256 resized_crop {} rotate: 10 }", caffe::TEST);
  const AugmentParams params = draw_params(plan, 3, 512, 1024, 1, 0, 0);
  EXPECT_EQ(params.map[0], int64_t(2) << 32);
  EXPECT_EQ(params.map[4], int64_t(2) << 32);
  EXPECT_NEAR(place_of(params, 0, 0).x, 2 * (144 + 0.5) - 0.5, 1e-9);
  EXPECT_NEAR(place_of(params, 0, 0).y, 2 * (16 + 0.5) - 0.5, 1e-9);
  const TransformPlan alone = plan_of("crop_size: 224 augment { resized_crop {} }", caffe::TEST);
  EXPECT_EQ(draw_params(alone, 3, 512, 1024, 1, 0, 0).map[0], int64_t(2) << 32);
}

TEST(Augment, PaddingIsTheMeanOrTheRequestedValue) {
  const Picture picture(3, 8, 8);
  const auto corner = [&](const std::string& options) {
    const TransformPlan plan = plan_of("pad: 4 " + options);
    const std::vector<float> y = made(picture.sample, plan, draw_of(plan, picture.sample));
    EXPECT_EQ(y.size(), 3u * 16 * 16);
    EXPECT_EQ(y[4 * 16 + 4] + (plan.mean_values.empty() ? 0 : 9), float(picture.at(0, 0, 0)));
    return y[0];
  };
  EXPECT_EQ(corner("mean_value: 9"), 0);
  EXPECT_EQ(corner(""), 0);
  EXPECT_EQ(corner("augment { fill_value: 77 }"), 77);
  EXPECT_EQ(corner("augment { border: EDGE }"), float(picture.at(0, 0, 0)));
  EXPECT_EQ(corner("augment { border: REFLECT }"), float(picture.at(0, 3, 3)));
}

TEST(Augment, FlipsWithItsProbability) {
  const Picture picture(1, 5, 7);
  const TransformPlan plan = plan_of("augment { flip_h: 0.25 flip_v: 0.75 }");
  int across = 0, down = 0;
  for (uint64_t index = 0; index < 2000; ++index) {
    const AugmentParams params = draw_of(plan, picture.sample, index);
    across += params.map[0] < 0;
    down += params.map[4] < 0;
    const std::vector<float> y = made(picture.sample, plan, params);
    ASSERT_EQ(y[0], float(picture.at(0, params.map[4] < 0 ? 4 : 0, params.map[0] < 0 ? 6 : 0)));
  }
  EXPECT_NEAR(across, 500, 80);
  EXPECT_NEAR(down, 1500, 80);
}

TEST(Augment, OptionsDrawIndependently) {
  const std::string base = "crop_size: 9 mirror: true ";
  const Picture picture(3, 20, 20);
  const TransformPlan plain = plan_of(base), more = plan_of(base + "augment { brightness: 0.4 erase {} noise: 3 }");
  for (uint64_t index = 0; index < 50; ++index) {
    const AugmentParams a = draw_of(plain, picture.sample, index), b = draw_of(more, picture.sample, index);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(a.map[i], b.map[i]);
  }
}

/// What was drawn for one sample, each as a number with its median at 0.
std::map<std::string, double> drawn(const TransformPlan& plan, uint64_t epoch, uint64_t index) {
  const AugmentParams params = draw_params(plan, 3, 300, 300, 5, epoch, index);
  const Place first = place_of(params, 0, 0), last = place_of(params, params.out_width - 1, params.out_height - 1);
  return {{"mirrored", first.x > last.x ? 1 : -1},
          {"turned over", first.y > last.y ? 1 : -1},
          {"left", std::min(first.x, last.x) - 124.5},
          {"top", std::min(first.y, last.y) - 124.5},
          {"left, odd", int(std::min(first.x, last.x) + 0.5) % 2 ? 1 : -1},
          {"top, odd", int(std::min(first.y, last.y) + 0.5) % 2 ? 1 : -1},
          {"erased", params.erased.height > 0 ? 1 : -1},
          {"blurred", params.blur > 0 ? 1 : -1},
          {"noise", params.noise - 10},
          {"key", params.noise_key >> 63 ? 1 : -1}};
}

/// No draw depends on another one, of the same sample, of the next, or of the same in the next epoch.
TEST(Augment, DrawsAreIndependentOfEachOther) {
  const TransformPlan plan =
      plan_of("crop_size: 50 mirror: true augment { flip_v: 0.5 blur { prob: 0.5 } noise: 20 erase { prob: 0.5 } }");
  const int n = 4000;
  std::map<std::string, double> sums;
  for (uint64_t i = 0; i < n; ++i) {
    const auto one = drawn(plan, 1, i), next = drawn(plan, 1, i + 1), later = drawn(plan, 2, i);
    for (const auto& [name, value] : one) {
      const double sign = value > 0 ? 1 : -1;
      sums[name] += sign;
      for (const auto& [other, of_one] : one)
        if (name < other) sums[name + " and " + other] += of_one > 0 ? sign : -sign;
      for (const auto& [other, of_next] : next) sums[name + " and the next " + other] += of_next > 0 ? sign : -sign;
      for (const auto& [other, of_later] : later) sums[name + " and the later " + other] += of_later > 0 ? sign : -sign;
    }
  }
  EXPECT_EQ(sums.size(), 10u + 45u + 100u + 100u);
  for (const auto& [name, sum] : sums) EXPECT_LT(std::abs(sum) / std::sqrt(n), 4.5) << name;  // standard deviations
}

TEST(Augment, AReducedSampleHasTheSameResult) {
  const Picture whole(3, 96, 128, true, false, true);
  Picture half(3, 48, 64, true);
  for (int y = 0; y < 48; ++y)
    for (int x = 0; x < 64; ++x)
      for (int c = 0; c < 3; ++c)
        half.bytes[size_t((y * 64 + x) * 3 + c)] =
            uint8_t((whole.at(c, 2 * y, 2 * x) + whole.at(c, 2 * y, 2 * x + 1) + whole.at(c, 2 * y + 1, 2 * x) +
                     whole.at(c, 2 * y + 1, 2 * x + 1) + 2) /
                    4);
  const TransformPlan plan = plan_of("crop_size: 20 mirror: true augment { resized_crop { min_area: 0.5 } }");
  for (uint64_t index = 0; index < 20; ++index) {
    const AugmentParams params = draw_of(plan, whole.sample, index);
    const std::vector<float> a = made(whole.sample, plan, params), b = made(half.sample, plan, params);
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2.5);
  }
}

TEST(Augment, APartOfTheSourceHasTheSamePixels) {
  const Picture whole(3, 60, 70, true);
  for (const char* options : {"crop_size: 20 mirror: true", "crop_size: 20 augment { resized_crop {} }",
                              "crop_size: 20 augment { resized_crop {} filter: CUBIC rotate: 30 }"}) {
    const TransformPlan plan = plan_of(options);
    for (uint64_t index = 0; index < 20; ++index) {
      const AugmentParams params = draw_of(plan, whole.sample, index);
      const SourceWindow window = source_window(params);
      std::vector<uint8_t> bytes;
      for (int y = 0; y < window.height; ++y)
        for (int x = 0; x < window.width * 3; ++x)
          bytes.push_back(whole.bytes[size_t(((window.top + y) * 70 + window.left) * 3 + x)]);
      const Sample part{3, window.height, window.width, bytes.data(), nullptr, true};
      const AugmentParams fitted = resolve_params(params, part, {window.top, window.left, window.height, window.width});
      ASSERT_EQ(made(part, plan, fitted), made(whole.sample, plan, params)) << options << " " << index;
    }
  }
}

TEST(Augment, APlainCropReadsItsWindowOnly) {
  const TransformPlan plan = plan_of("crop_size: 20 mirror: true augment { flip_v: 0.5 }");
  for (uint64_t index = 0; index < 50; ++index) {
    const AugmentParams params = draw_params(plan, 3, 60, 70, 1, 0, index);
    const SourceWindow window = source_window(params);
    EXPECT_TRUE(is_cut_out(params));
    EXPECT_EQ(window.height, 20);
    EXPECT_EQ(window.width, 20);
    EXPECT_EQ(window.out_height, 20);
    EXPECT_EQ(window.out_width, 20);
  }
}

}  // namespace

}  // namespace cortado::data::testing
