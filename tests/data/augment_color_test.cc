// Colours, noise and erasing against formulas in double precision, and policies against their published tables.
#include <cmath>
#include <set>

#include "data/augment/augment.h"
#include "data/augment/color_list.h"
#include "tests/data/augment_fixtures.h"

namespace cortado::data::testing {

namespace {

struct Color {
  double b, g, r;
};

double gray(const Color& x) { return 0.114 * x.b + 0.587 * x.g + 0.299 * x.r; }

/// Applies one operation of a list to one colour.
Color after(const Color& x, const std::function<void(ColorList&)>& add) {
  AugmentParams params;
  ColorList list(params);
  add(list);
  float b = float(x.b), g = float(x.g), r = float(x.r);
  for (int i = 0; i < params.color_ops; ++i) apply_color(params.color[i], params.table, b, g, r);
  return {b, g, r};
}

void expect_color(const Color& got, const Color& expected, double tolerance = 1e-3) {
  EXPECT_NEAR(got.b, std::clamp(expected.b, 0.0, 255.0), tolerance);
  EXPECT_NEAR(got.g, std::clamp(expected.g, 0.0, 255.0), tolerance);
  EXPECT_NEAR(got.r, std::clamp(expected.r, 0.0, 255.0), tolerance);
}

const Color kColors[] = {{0, 0, 0}, {255, 255, 255}, {10, 200, 90}, {240, 3, 77}, {128, 128, 128}, {64, 65, 250}};

TEST(Colors, AgreeWithTheirFormulas) {
  for (const Color& x : kColors) {
    const double l = gray(x);
    expect_color(after(x, [](ColorList& list) { list.add(brightened(1.3)); }), {1.3 * x.b, 1.3 * x.g, 1.3 * x.r});
    expect_color(after(x, [](ColorList& list) { list.add(brightened(1, -20)); }), {x.b - 20, x.g - 20, x.r - 20});
    expect_color(after(x, [](ColorList& list) { list.add(contrasted(0.5, 128)); }),
                 {64 + x.b / 2, 64 + x.g / 2, 64 + x.r / 2});
    expect_color(after(x, [](ColorList& list) { list.add(saturated(1.5)); }),
                 {l + 1.5 * (x.b - l), l + 1.5 * (x.g - l), l + 1.5 * (x.r - l)});
    expect_color(after(x, [](ColorList& list) { list.add(saturated(0)); }), {l, l, l});
    expect_color(after(x, [](ColorList& list) { list.add(inverted()); }), {255 - x.b, 255 - x.g, 255 - x.r});
    expect_color(after(x, [](ColorList& list) { list.add(reordered(2, 0, 1)); }), {x.r, x.b, x.g});
    expect_color(after(x, [](ColorList& list) { list.posterize(3); }),
                 {std::floor(x.b / 32) * 32, std::floor(x.g / 32) * 32, std::floor(x.r / 32) * 32});
    const auto sun = [](double v) { return v >= 100 ? 255 - v : v; };
    expect_color(after(x, [](ColorList& list) { list.solarize(100); }), {sun(x.b), sun(x.g), sun(x.r)});
  }
}

TEST(Colors, HueKeepsGreysAndLuminanceAndIsPeriodic) {
  for (const Color& x : {Color{100, 130, 110}, Color{128, 128, 128}, Color{120, 100, 140}}) {
    for (const double turn : {0.3, 1.0, 2.5, -0.7}) {
      const Color y = after(x, [&](ColorList& list) { list.add(hue_turned(turn)); });
      EXPECT_NEAR(gray(y), gray(x), 0.1);
      if (x.b == x.g && x.g == x.r) expect_color(y, x);
    }
    expect_color(after(x, [](ColorList& list) { list.add(hue_turned(6.283185307)); }), x, 0.1);
    const Color third = after(x, [](ColorList& list) { list.add(hue_turned(1)), list.add(hue_turned(-1)); });
    expect_color(third, x, 0.1);
  }
}

TEST(Colors, NeighboursComposeIntoOne) {
  AugmentParams params;
  ColorList list(params);
  list.add(brightened(2));
  list.add(contrasted(0.25, 128));
  EXPECT_EQ(params.color_ops, 1);
  float b = 200, g = 10, r = 128;
  apply_color(params.color[0], params.table, b, g, r);
  EXPECT_NEAR(b, 128 + (400 - 128) * 0.25, 1e-3);
  EXPECT_NEAR(g, 128 + (20 - 128) * 0.25, 1e-3);
  EXPECT_NEAR(r, 128 + (256 - 128) * 0.25, 1e-3);
  list.posterize(4);
  list.add(inverted());
  EXPECT_EQ(params.color_ops, 3);
}

TEST(Colors, JitterKeepsItsRanges) {
  const Picture picture(3, 4, 4);
  const TransformPlan plan = plan_of("augment { brightness: 0.4 jitter_prob: 0.5 }");
  double least = 1, most = 1;
  int none = 0;
  for (uint64_t index = 0; index < 1000; ++index) {
    const AugmentParams params = draw_of(plan, picture.sample, index);
    if (params.color_ops == 0) ++none;
    const double factor = params.color_ops > 0 ? params.color[0].v[0] : 1;
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  EXPECT_NEAR(none, 500, 70);
  EXPECT_NEAR(least, 0.6, 0.01);
  EXPECT_NEAR(most, 1.4, 0.01);
}

TEST(Colors, GreyHasItsProbabilityAndIsGrey) {
  const Picture picture(3, 6, 6);
  const TransformPlan plan = plan_of("augment { grayscale: 0.3 }");
  int count = 0;
  for (uint64_t index = 0; index < 1000; ++index) {
    const std::vector<float> y = made(picture.sample, plan, draw_of(plan, picture.sample, index));
    const Color x{picture.at(0, 2, 3), picture.at(1, 2, 3), picture.at(2, 2, 3)};
    if (std::abs(y[15] - y[36 + 15]) > 1e-3) continue;
    ++count;
    EXPECT_NEAR(y[15], gray(x), 1e-3);
    EXPECT_NEAR(y[72 + 15], gray(x), 1e-3);
  }
  EXPECT_NEAR(count, 300, 60);
}

/// The histogram of a channel.
std::vector<int> levels(const std::vector<float>& y, size_t area) {
  std::vector<int> counts(256);
  for (size_t i = 0; i < area; ++i) ++counts[size_t(y[i] + 0.5f)];
  return counts;
}

TEST(Colors, EqualizedLevelsAreSpreadEvenly) {
  Picture picture(1, 64, 64);
  for (size_t i = 0; i < picture.bytes.size(); ++i) picture.bytes[i] = uint8_t(100 + i % 16);
  const TransformPlan plan = plan_of("noise_param { prob: 1 hist_eq: true }");
  const std::vector<float> y = made(picture.sample, plan, draw_of(plan, picture.sample));
  const std::vector<int> counts = levels(y, 64 * 64);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(counts[size_t(i * 17)], 256) << i;
}

TEST(Colors, AutoContrastReachesBothEnds) {
  Picture picture(3, 32, 32);
  for (size_t i = 0; i < picture.bytes.size(); ++i) picture.bytes[i] = uint8_t(60 + i % 101);
  AugmentParams params = draw_of(TransformPlan(), picture.sample);
  ColorList(params).auto_contrast();
  const std::vector<float> y = made(picture.sample, TransformPlan(), resolve_params(params, picture.sample));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], (picture.bytes[i] - 60) * 255.0 / 100, 1e-3);
}

TEST(Colors, NoiseHasItsDeviation) {
  Picture picture(3, 100, 100);
  for (uint8_t& byte : picture.bytes) byte = 128;
  const TransformPlan plan = plan_of("augment { noise: 20 }");
  for (uint64_t index = 0; index < 5; ++index) {
    const AugmentParams params = draw_of(plan, picture.sample, index);
    double sum = 0, squares = 0;
    const std::vector<float> y = made(picture.sample, plan, params);
    for (const float value : y) sum += value - 128, squares += (value - 128) * (value - 128);
    EXPECT_NEAR(sum / double(y.size()), 0, 0.03 * params.noise + 1e-6);
    EXPECT_NEAR(std::sqrt(squares / double(y.size())), params.noise, 0.02 * params.noise);
    EXPECT_LE(params.noise, 20);
  }
}

TEST(Colors, SaltReplacesItsFraction) {
  Picture picture(3, 100, 100);
  for (uint8_t& byte : picture.bytes) byte = 128;
  const auto counted = [&](const std::string& values, float value) {
    const TransformPlan plan =
        plan_of("noise_param { prob: 1 saltpepper: true saltpepper_param { fraction: 0.1 " + values + " } }");
    const std::vector<float> y = made(picture.sample, plan, draw_of(plan, picture.sample));
    return std::count(y.begin(), y.end(), value);
  };
  EXPECT_NEAR(double(counted("", 0)), 1500, 200);
  EXPECT_NEAR(double(counted("", 255)), 1500, 200);
  EXPECT_NEAR(double(counted("value: 7", 7)), 3000, 300);
  EXPECT_NEAR(double(counted("value: 7 value: 8 value: 9", 8)), 1000, 150);
}

TEST(Colors, ErasedRectanglesHaveTheRequestedArea) {
  const Picture picture(3, 60, 80);
  const TransformPlan plan = plan_of("mean_value: 300 augment { erase { prob: 0.6 min_area: 0.1 max_area: 0.2 } }");
  int erased = 0;
  for (uint64_t index = 0; index < 300; ++index) {
    const AugmentParams params = draw_of(plan, picture.sample, index);
    if (params.erased.height == 0) continue;
    ++erased;
    const double area = params.erased.height * params.erased.width / 4800.0;
    EXPECT_GT(area, 0.09);
    EXPECT_LT(area, 0.21);
    const std::vector<float> y = made(picture.sample, plan, params);  // everything else is below 0
    EXPECT_EQ(std::count(y.begin(), y.end(), 0.0f), 3 * params.erased.height * params.erased.width);
    EXPECT_EQ(y[size_t((params.erased.top + 60) * 80 + params.erased.left)], 0);
  }
  EXPECT_NEAR(erased, 180, 35);
}

TEST(Colors, BlurSpreadsAPointByItsDeviation) {
  Picture picture(1, 41, 41);
  std::fill(picture.bytes.begin(), picture.bytes.end(), uint8_t(0));
  picture.bytes[20 * 41 + 20] = 255;
  const TransformPlan plan = plan_of("augment { blur { prob: 1 min_sigma: 3 max_sigma: 3 } }");
  const std::vector<float> y = made(picture.sample, plan, draw_of(plan, picture.sample));
  double sum = 0, squares = 0;
  for (int row = 0; row < 41; ++row)
    for (int column = 0; column < 41; ++column) {
      const double value = y[size_t(row * 41 + column)];
      sum += value;
      squares += value * (column - 20) * (column - 20);
    }
  EXPECT_NEAR(sum, 255, 5);
  EXPECT_NEAR(std::sqrt(squares / sum), 3, 0.1);
}

TEST(Policies, RandAugmentUsesAllItsOperations) {
  const Picture picture(3, 32, 32);
  const TransformPlan plan = plan_of("augment { rand_augment { ops: 1 magnitude: 15 } }");
  int moved = 0, colored = 0, sharp = 0, nothing = 0;
  std::set<int> kinds;
  for (uint64_t index = 0; index < 2800; ++index) {
    const AugmentParams params = draw_of(plan, picture.sample, index);
    const bool moves = params.map[0] != kOnePixel || params.map[1] != 0 || params.map[2] != 0 || params.map[3] != 0 ||
                       params.map[5] != 0;
    moved += moves;
    colored += params.color_ops;
    sharp += params.sharpen != 0;
    nothing += !moves && params.color_ops == 0 && params.sharpen == 0;
    if (params.color_ops > 0) kinds.insert(int(params.color[0].kind));
  }
  EXPECT_NEAR(moved, 1000, 120);    // 5 of 14
  EXPECT_NEAR(colored, 1400, 120);  // 7
  EXPECT_NEAR(sharp, 200, 60);      // 1
  EXPECT_NEAR(nothing, 200, 60);    // 1
  EXPECT_EQ(kinds.size(), 5u);
}

TEST(Policies, StrengthsAreThoseOfTheMagnitude) {
  const TransformPlan plan = plan_of("augment { rand_augment { ops: 1 magnitude: 30 } }");
  const Picture picture(3, 101, 101);
  std::set<int> shears, moves, levels;
  for (uint64_t index = 0; index < 1000; ++index) {
    const AugmentParams params = draw_of(plan, picture.sample, index);
    if (params.map[0] == kOnePixel && params.map[1] != 0)
      shears.insert(int(std::lround(double(params.map[1]) / double(kOnePixel) * 1000)));
    if (params.map[0] == kOnePixel && params.map[1] == 0 && params.map[2] != 0) moves.insert(int(params.map[2] >> 32));
    if (params.color_ops > 0 && params.color[0].kind == ColorKind::kPosterize) levels.insert(int(params.color[0].v[0]));
  }
  EXPECT_EQ(shears, (std::set<int>{-300, 300}));
  EXPECT_EQ(moves, (std::set<int>{-46, 46}));  // 101 * 150 / 331
  EXPECT_EQ(levels, (std::set<int>{16}));
}

TEST(Policies, AutoAugmentEqualizesAsOftenAsInItsTable) {
  const Picture picture(3, 32, 32);
  const TransformPlan plan = plan_of("augment { auto_augment: IMAGENET }");
  int equalized = 0;
  constexpr int kDraws = 5000;
  for (uint64_t index = 0; index < kDraws; ++index) {
    const AugmentParams params = draw_of(plan, picture.sample, index);
    for (int i = 0; i < params.color_ops; ++i) equalized += params.color[i].kind == ColorKind::kEqualize;
  }
  // The probabilities in 25 rows: two of (0.8 or 0.6) = 0.92, three of 0.4, four of 1 (with ShearX, Posterize, Invert
  // twice), four of 0.6 (with Solarize, the first Posterize, Rotate, Color), one of (0 or 0.8), and 0.4 for the
  // repeated row.
  const double expected = (2 * 0.92 + 3 * 0.4 + 4 * 1.0 + 4 * 0.6 + 0.8) / 25;
  EXPECT_NEAR(equalized / double(kDraws), expected, 0.02);
}

}  // namespace

}  // namespace cortado::data::testing
