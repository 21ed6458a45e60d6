// The fields of every dialect, by their effect on a draw; and the errors, by the field that they name.
#include <cmath>
#include <map>
#include <set>

#include "data/augment/augment.h"
#include "tests/data/augment_fixtures.h"

namespace cortado::data::testing {

namespace {

double step_x(const AugmentParams& params) { return double(params.map[0]) / double(kOnePixel); }
double step_y(const AugmentParams& params) { return double(params.map[4]) / double(kOnePixel); }

/// The minimum and maximum of a value over many draws for a source of this size.
template <typename Function>
Range range_of(const TransformPlan& plan, int height, int width, const Function& function) {
  Range range{1e9f, -1e9f};
  for (uint64_t index = 0; index < 400; ++index) {
    const float value = float(function(draw_params(plan, 3, height, width, 1, 0, index)));
    range = {std::min(range.low, value), std::max(range.high, value)};
  }
  return range;
}

void expect_range(const Range& got, double low, double high, double tolerance) {
  EXPECT_NEAR(got.low, low, tolerance);
  EXPECT_NEAR(got.high, high, tolerance);
}

TEST(Nvidia, ShorterSideIsDrawnBetweenTheTwo) {
  const std::string text = "crop_size: 100 img_rand_resize_lower: 128 img_rand_resize_upper: 256 ";
  const TransformPlan plan = plan_of(text);
  expect_range(range_of(plan, 512, 700, [](const AugmentParams& d) { return 512 / step_y(d); }), 128, 256, 3);
  const AugmentParams tested = draw_params(plan_of(text, caffe::TEST), 3, 512, 700, 1, 0, 0);
  EXPECT_NEAR(512 / step_y(tested), 192, 1e-3);
}

TEST(Nvidia, EnlargesOnlyIfAllowed) {
  const std::string text = "crop_size: 50 img_rand_resize_lower: 128 img_rand_resize_upper: 256 ";
  expect_range(range_of(plan_of(text), 100, 100, step_x), 1, 1, 0);
  expect_range(range_of(plan_of(text + "allow_upscale: true"), 100, 100, step_x), 100.0 / 256, 100.0 / 128, 0.02);
}

TEST(Nvidia, RatiosAndStretchesMultiply) {
  const std::string base = "crop_size: 20 allow_upscale: true ";
  expect_range(range_of(plan_of(base + "rand_resize_ratio_lower: 0.5 rand_resize_ratio_upper: 2"), 100, 100,
                        [](const AugmentParams& d) { return 1 / step_x(d); }),
               0.5, 2, 0.03);
  const TransformPlan plan = plan_of(base + "horizontal_stretch_lower: 0.8 horizontal_stretch_upper: 1.6");
  expect_range(range_of(plan, 100, 100, [](const AugmentParams& d) { return 1 / step_x(d); }), 0.8, 1.6, 0.03);
  expect_range(range_of(plan, 100, 100, step_y), 1, 1, 0);
  const TransformPlan other = plan_of(base + "vertical_stretch_lower: 0.8 vertical_stretch_upper: 1.6");
  expect_range(range_of(other, 100, 100, [](const AugmentParams& d) { return 1 / step_y(d); }), 0.8, 1.6, 0.03);
}

TEST(Soeaver, FactorsAreDrawnFromAList) {
  const std::string text = "crop_size: 20 scale_factors: [0.5, 1, 1.5] ";
  const TransformPlan plan = plan_of(text);
  std::map<int, int> seen;
  for (uint64_t i = 0; i < 300; ++i) {
    const AugmentParams drawn = draw_params(plan, 3, 100, 120, 1, 0, i);
    EXPECT_NEAR(step_x(drawn), step_y(drawn), 1e-6);
    ++seen[int(std::lround(1000 / step_x(drawn)))];
  }
  for (const int factor : {500, 1000, 1500}) EXPECT_NEAR(seen[factor], 100, 30) << factor;
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_EQ(step_x(draw_params(plan_of(text, caffe::TEST), 3, 100, 120, 1, 0, 0)), 1);
}

TEST(Nvidia, FiltersDependOnTheDirection) {
  const std::string text =
      "crop_size: 50 img_rand_resize_lower: 100 img_rand_resize_upper: 100 allow_upscale: true "
      "interpolation_algo_down: "
      "INTER_AREA interpolation_algo_up: INTER_LINEAR";
  const TransformPlan plan = plan_of(text);
  EXPECT_EQ(draw_params(plan, 3, 200, 200, 1, 0, 0).filter, Filter::kArea);
  EXPECT_EQ(draw_params(plan, 3, 60, 60, 1, 0, 0).filter, Filter::kLinear);
  EXPECT_FALSE(plan.augment.smooth);
}

TEST(Nvidia, RandomSeedSeedsTheDraws) {
  const TransformPlan a = plan_of("crop_size: 5 random_seed: 3"), b = plan_of("crop_size: 5 random_seed: 4");
  const auto at = [](const TransformPlan& plan, uint64_t seed) {
    return draw_params(plan, 3, 400, 400, seed, 0, 0).map[2];
  };
  EXPECT_EQ(at(a, 1), at(a, 2));
  EXPECT_EQ(at(a, 1), at(plan_of("crop_size: 5"), 3));
  EXPECT_NE(at(a, 1), at(b, 1));
}

TEST(Nvidia, RuntimeOptionsAreAccepted) {
  EXPECT_FALSE(plan_of("use_gpu_transform: true display: true forward_packing: NHWC").augment.moves);
}

TEST(Intel, RandomSizeOfTheShorterSide) {
  const TransformPlan plan =
      plan_of("crop_size: 64 random_resize_param { min_size: 80 max_size: 120 resize_param { interp_mode: CUBIC } }");
  expect_range(range_of(plan, 300, 200, [](const AugmentParams& d) { return 200 / step_x(d); }), 80, 120, 2);
  EXPECT_EQ(draw_params(plan, 3, 300, 200, 1, 0, 0).filter, Filter::kCubic);
}

TEST(Intel, RandomPartIsResizedToItsSize) {
  const TransformPlan plan = plan_of(
      "random_aspect_ratio_param { min_area_ratio: 0.25 max_area_ratio: 0.5 aspect_ratio_change: 1.5 max_attempt: 5 "
      "resize_param { height: 30 width: 40 } }");
  const auto area = [](const AugmentParams& d) { return step_x(d) * 40 * step_y(d) * 30 / 40000; };
  const auto aspect = [](const AugmentParams& d) { return step_x(d) * 40 / (step_y(d) * 30); };
  expect_range(range_of(plan, 200, 200, area), 0.25, 0.5, 0.02);
  expect_range(range_of(plan, 200, 200, aspect), 1 / 1.5, 1.5, 0.05);
  EXPECT_EQ(draw_params(plan, 3, 200, 200, 1, 0, 0).out_width, 40);
  const AugmentParams tested =
      draw_params(plan_of("crop_size: 20 random_aspect_ratio_param {}", caffe::TEST), 3, 200, 200, 1, 0, 0);
  EXPECT_EQ(tested.map[0], kOnePixel);
}

TEST(Intel, SwapsRedAndBlueAndPads) {
  const Picture picture(3, 6, 6);
  const TransformPlan plan = plan_of("bgr2rgb: true pad: 2");
  const std::vector<float> y = made(picture.sample, plan, draw_of(plan, picture.sample));
  ASSERT_EQ(y.size(), 300u);
  for (int c = 0; c < 3; ++c) EXPECT_EQ(y[size_t(c * 100 + 3 * 10 + 4)], picture.at(2 - c, 1, 2));
}

TEST(Ssd, ResizesByWarpingCoveringOrPadding) {
  const auto sizes = [](const std::string& mode) {
    const TransformPlan plan = plan_of("resize_param { height: 60 width: 100 resize_mode: " + mode + " }");
    return draw_params(plan, 3, 120, 400, 1, 0, 0);
  };
  const AugmentParams warp = sizes("WARP"), cover = sizes("FIT_SMALL_SIZE"), pad = sizes("FIT_LARGE_SIZE_AND_PAD");
  EXPECT_EQ(warp.out_height, 60);
  EXPECT_EQ(warp.out_width, 100);
  EXPECT_DOUBLE_EQ(step_x(warp), 4);
  EXPECT_DOUBLE_EQ(step_y(warp), 2);
  EXPECT_EQ(cover.out_height, 60);
  EXPECT_EQ(cover.out_width, 200);
  EXPECT_EQ(pad.out_height, 60);
  EXPECT_EQ(pad.out_width, 100);
  EXPECT_DOUBLE_EQ(step_x(pad), 4);
  EXPECT_DOUBLE_EQ(step_y(pad), 4);
}

TEST(Ssd, UsesTheFirstOfSeveralSizes) {
  const TransformPlan plan =
      plan_of("resize_param { prob: 0.1 height: 60 width: 100 } resize_param { prob: 0.9 height: 30 width: 50 }");
  for (uint64_t index = 0; index < 20; ++index) {
    const AugmentParams params = draw_params(plan, 3, 120, 400, 1, 0, index);
    EXPECT_EQ(params.out_height, 60);
    EXPECT_EQ(params.out_width, 100);
  }
}

TEST(Ssd, OneProbabilityAppliesToEachEnabledChange) {
  const TransformPlan plan = plan_of(
      "distort_param { prob: 0.25 brightness: true brightness_delta: 32 hue: true hue_delta: 18 contrast_lower: 0.5 "
      "contrast_upper: 1.5 all_effects: false }");
  const DistortPlan& distort = plan.augment.distort;
  EXPECT_EQ(distort.brightness_prob, 0.25f);
  EXPECT_EQ(distort.hue_prob, 0.25f);
  EXPECT_EQ(distort.contrast_prob, 0);
  EXPECT_EQ(plan_of("distort_param { prob: 0.25 all_effects: true }").augment.distort.contrast_prob, 0.25f);
}

TEST(Ssd, PadsByItsMode) {
  Picture picture(1, 10, 20);
  for (size_t i = 0; i < picture.bytes.size(); ++i) picture.bytes[i] = uint8_t(10 + i / 20);
  const auto top = [&](const std::string& mode) {
    const TransformPlan plan =
        plan_of("resize_param { height: 20 width: 20 resize_mode: FIT_LARGE_SIZE_AND_PAD " + mode + " }");
    return made(picture.sample, plan, draw_of(plan, picture.sample))[3];
  };
  EXPECT_EQ(top("pad_value: 99"), 99);
  EXPECT_EQ(top("pad_mode: REPEAT_NEAREST"), 10);
  EXPECT_EQ(top("pad_mode: MIRRORED"), 14);
}

TEST(Ssd, ChoosesAmongInterpolations) {
  const std::string text =
      "resize_param { height: 9 width: 9 interp_mode: LINEAR interp_mode: AREA interp_mode: NEAREST "
      "interp_mode: CUBIC interp_mode: LANCZOS4 }";
  const TransformPlan plan = plan_of(text), tested = plan_of(text, caffe::TEST);
  std::set<Filter> filters, in_test;
  for (uint64_t index = 0; index < 200; ++index) {
    filters.insert(draw_params(plan, 3, 20, 20, 1, 0, index).filter);
    in_test.insert(draw_params(tested, 3, 20, 20, 1, 0, index).filter);
  }
  EXPECT_EQ(filters.size(), 5u);
  EXPECT_EQ(in_test, std::set<Filter>{Filter::kLinear});
}

TEST(Ssd, ExpandsOntoALargerPicture) {
  const Picture picture(3, 20, 30);
  const TransformPlan plan = plan_of(
      "mean_value: 300 resize_param { height: 20 width: 30 interp_mode: NEAREST } "
      "expand_param { prob: 0.5 max_expand_ratio: 4 }");
  int expanded = 0;
  for (uint64_t index = 0; index < 300; ++index) {
    const AugmentParams params = draw_of(plan, picture.sample, index);
    if (params.map[0] == kOnePixel) continue;
    ++expanded;
    EXPECT_LE(step_x(params), 4.05);
    const std::vector<float> y = made(picture.sample, plan, params);
    const double shown = double(std::count_if(y.begin(), y.end(), [](float v) { return v < 0; })) / 1800;
    EXPECT_NEAR(shown, 1 / (step_x(params) * step_y(params)), 0.15);
  }
  EXPECT_NEAR(expanded, 150, 35);
}

/// As in SSD: distort_param comes first, so what is around the image becomes 0 by the mean, whatever moves the image.
TEST(Ssd, DistortsTheImageButNotWhatIsAroundIt) {
  const std::string distortion =
      "distort_param { brightness_prob: 1 brightness_delta: 90 contrast_prob: 1 contrast_lower: 0.3 contrast_upper: 2 "
      "hue_prob: 1 hue_delta: 36 saturation_prob: 1 saturation_lower: 0 saturation_upper: 2 random_order_prob: 1 } ";
  for (const int channels : {1, 3})
    for (const char* moves :
         {"expand_param { prob: 1 max_expand_ratio: 3 } resize_param { height: 20 width: 30 }",
          "resize_param { height: 24 width: 40 resize_mode: FIT_LARGE_SIZE_AND_PAD }", "crop_size: 20 pad: 6",
          "crop_size: 20 augment { rotate: 45 translate: 0.3 }", "crop_size: 24 pad: 9 augment { short_side: 17 }"}) {
      SCOPED_TRACE(moves);
      const Picture picture(channels, 20, 30);
      const std::string mean = channels == 1 ? "mean_value: 37 " : "mean_value: 20 mean_value: 100 mean_value: 230 ";
      const TransformPlan plan = plan_of(mean + distortion + moves);
      int64_t around = 0, within = 0, changed = 0;
      for (uint64_t index = 0; index < 40; ++index) {
        const AugmentParams params = resolve_params(draw_of(plan, picture.sample, index), picture.sample);
        AugmentParams plain = params;
        plain.color_ops = plain.image_color_ops = 0;
        const std::vector<float> y = made(picture.sample, plan, params), x = made(picture.sample, plan, plain);
        const int64_t area = int64_t(params.out_height) * params.out_width;
        for (int64_t i = 0; i < int64_t(y.size()); ++i) {
          const int64_t pixel = i % area;
          const Spot spot = spot_at(params, picture.sample, pixel % params.out_width, pixel / params.out_width);
          ++(spot.fill ? around : within);
          changed += y[size_t(i)] != x[size_t(i)];
          if (spot.fill) {
            ASSERT_EQ(y[size_t(i)], 0);
          }
        }
      }
      EXPECT_GT(around, within / 20);
      EXPECT_GT(changed, within / 2);
    }
}

TEST(Ssd, DistortsWithItsProbabilities) {
  const TransformPlan plan = plan_of(
      "distort_param { brightness_prob: 0.5 brightness_delta: 32 contrast_prob: 0.25 contrast_lower: 0.5 "
      "contrast_upper: 1.5 }");
  int added = 0, scaled = 0, none = 0;
  for (uint64_t index = 0; index < 2000; ++index) {
    const AugmentParams params = draw_params(plan, 3, 5, 5, 1, 0, index);
    if (params.color_ops == 0 && ++none) continue;
    const float* v = params.color[0].v;
    added += v[3] != 0;
    scaled += v[0] != 1;
    EXPECT_LE(std::abs(v[3]), 32 * 1.5);
    EXPECT_GE(v[0], 0.5);
    EXPECT_LE(v[0], 1.5);
    EXPECT_EQ(v[1], 0);
  }
  EXPECT_NEAR(added, 1000, 100);
  EXPECT_NEAR(scaled, 500, 80);
  EXPECT_NEAR(none, 750, 90);
  const TransformPlan order = plan_of("distort_param { random_order_prob: 1 }");
  std::set<std::vector<float>> orders;
  for (uint64_t index = 0; index < 200; ++index) {
    const ColorOp op = draw_params(order, 3, 5, 5, 1, 0, index).color[0];
    orders.insert({op.v, op.v + 12});
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(Dialects, TestingDrawsNothing) {
  const TransformPlan plan = plan_of(
      "crop_size: 8 distort_param { brightness_prob: 1 brightness_delta: 9 } noise_param { prob: 1 inverse: true } "
      "expand_param { max_expand_ratio: 3 } augment { rotate: 9 noise: 4 erase {} blur {} rand_augment {} flip_v: 1 "
      "grayscale: 1 mix { classes: 5 mixup_alpha: 1 } }",
      caffe::TEST);
  EXPECT_FALSE(plan.augment.looks);
  EXPECT_FALSE(plan.augment.moves);
  EXPECT_TRUE(plan.augment.mix.on());
  EXPECT_EQ(plan.augment.mix.prob, 0);
}

void expect_field(const std::string& field, const std::string& text, caffe::Phase phase = caffe::TRAIN) {
  try {
    plan_of(text, phase);
    ADD_FAILURE() << "no error for " << text;
  } catch (const FieldError& error) {
    EXPECT_EQ(error.field(), "transform_param." + field) << text << ": " << error.what();
  }
}

TEST(Dialects, ErrorsNameTheField) {
  expect_field("img_rand_resize_upper", "crop_size: 5 img_rand_resize_lower: 256");
  expect_field("img_rand_resize_upper", "crop_size: 5 img_rand_resize_lower: 256 img_rand_resize_upper: 100");
  expect_field("rand_resize_ratio_lower", "crop_size: 5 rand_resize_ratio_upper: 2");
  expect_field("vertical_stretch_upper", "crop_size: 5 vertical_stretch_lower: 2");
  expect_field("horizontal_stretch_lower", "crop_size: 5 horizontal_stretch_lower: -1");
  expect_field("scale_factors[1]", "crop_size: 5 scale_factors: [1, 0]");
  expect_field("scale_factors[0]", "crop_size: 5 scale_factors: nan");
  expect_field("crop_size", "scale_factors: [0.5, 1]");
  expect_field("crop_size", "img_rand_resize_lower: 2 img_rand_resize_upper: 10");
  expect_field("emit_constraint", "emit_constraint {}");
  expect_field("num_labels", "num_labels: 3");
  expect_field("flow", "flow: true");
  expect_field("resize_param[0].height", "resize_param {}");
  expect_field("resize_param[0].width", "resize_param { height: 5 }");
  expect_field("resize_param[0].prob", "resize_param { height: 5 width: 5 prob: 2 }");
  expect_field("resize_param[0].height_scale", "resize_param { height: 5 width: 5 height_scale: 3 }");
  expect_field("crop_size", "resize_param { height: 5 width: 5 prob: 0.5 }");
  expect_field("resize_param[0]", "crop_size: 5 augment { short_side: 9 } resize_param { height: 5 width: 5 }");
  expect_field("resize_param[0]", "crop_size: 5 augment { resized_crop {} } resize_param { height: 5 width: 5 }");
  expect_field("random_resize_param.min_size", "crop_size: 5 random_resize_param {}");
  expect_field("random_aspect_ratio_param", "random_aspect_ratio_param {}");
  expect_field("random_aspect_ratio_param", "crop_size: 5 augment { resized_crop {} } random_aspect_ratio_param {}");
  expect_field("random_aspect_ratio_param.max_area_ratio",
               "crop_size: 5 random_aspect_ratio_param { max_area_ratio: 2 }");
  expect_field("random_aspect_ratio_param.aspect_ratio_change",
               "crop_size: 5 random_aspect_ratio_param { aspect_ratio_change: 0.5 }");
  expect_field("random_aspect_ratio_param.max_attempt", "crop_size: 5 random_aspect_ratio_param { max_attempt: 0 }");
  expect_field("pad", "pad: 4000000000");
  expect_field("distort_param.prob", "distort_param { prob: 2 }");
  expect_field("distort_param.hue_prob", "distort_param { hue_prob: 1.5 }");
  expect_field("distort_param.contrast_upper", "distort_param { contrast_lower: 1 contrast_upper: 0.5 }");
  expect_field("expand_param.max_expand_ratio", "crop_size: 5 expand_param { max_expand_ratio: 0.5 }");
  expect_field("crop_size", "expand_param { max_expand_ratio: 2 }");
  for (const char* noise : {"erode", "clahe", "convert_to_hsv", "convert_to_lab"})
    expect_field(std::string("noise_param.") + noise, std::string("noise_param { ") + noise + ": true }");
  expect_field("noise_param.jpeg", "noise_param { jpeg: 50 }");
  expect_field("geometry_param.prob", "geometry_param { prob: 0.5 }");
  expect_field("noise_param.saltpepper_param.fraction",
               "noise_param { saltpepper: true saltpepper_param { fraction: 2 } }");
}

TEST(AugmentOptions, ErrorsNameTheField) {
  const auto expect = [](const std::string& field, const std::string& text) {
    for (const caffe::Phase phase : {caffe::TRAIN, caffe::TEST})
      expect_field("augment." + field, "crop_size: 8 augment { " + text + " }", phase);
  };
  expect("short_side_max", "short_side_max: 8");
  expect("short_side_max", "short_side: 9 short_side_max: 8");
  expect("resized_crop.max_area", "resized_crop { max_area: 1.5 }");
  expect("resized_crop.max_aspect", "resized_crop { min_aspect: 3 max_aspect: 2 }");
  expect("resized_crop.min_area", "resized_crop { min_area: 0 }");
  expect("flip_h", "flip_h: 1.5");
  expect("flip_v", "flip_v: -1");
  expect("rotate", "rotate: 181");
  expect("rotate", "rotate: nan");
  expect("shear", "shear: 61");
  expect("translate", "translate: 2");
  expect("zoom_max", "zoom_min: 2");
  expect("zoom_min", "zoom_min: 0");
  expect("brightness", "brightness: 2");
  expect("contrast", "contrast: -1");
  expect("saturation", "saturation: inf");
  expect("hue", "hue: 0.6");
  expect("jitter_prob", "jitter_prob: 3");
  expect("grayscale", "grayscale: 3");
  expect("noise", "noise: 256");
  expect("blur.prob", "blur { prob: 2 }");
  expect("blur.max_sigma", "blur { min_sigma: 3 }");
  expect("erase.prob", "erase { prob: 2 }");
  expect("erase.max_area", "erase { min_area: 0.5 }");
  expect("erase.min_aspect", "erase { min_aspect: 0 }");
  expect("rand_augment.ops", "rand_augment { ops: 9 }");
  expect("rand_augment.magnitude", "rand_augment { magnitude: 31 }");
  expect("rand_augment", "rand_augment {} auto_augment: CIFAR10");
  expect("mix.classes", "mix {}");
  expect("mix", "mix { classes: 5 }");
  expect("mix.mixup_alpha", "mix { classes: 5 mixup_alpha: -1 }");
  expect("mix.cutmix_share", "mix { classes: 5 mixup_alpha: 1 cutmix_share: 2 }");
  expect("fill_value", "fill_value: nan");
  expect("fill_value", "fill_value: 1 fill_value: 1 fill_value: 1 fill_value: 1 fill_value: 1");
  expect_field("augment.resized_crop", "augment { resized_crop {} }");
  expect_field("crop_size", "augment { short_side: 8 short_side_max: 10 }");
  expect_field("mean_file", "mean_file: 'm' crop_size: 8 augment { rotate: 10 }");
}

TEST(AugmentOptions, SamplesThatDoNotFitAreErrors) {
  expect_sample_error("changes colours", [] { draw_params(plan_of("augment { hue: 0.1 }"), 4, 8, 8, 1, 0, 0); });
  expect_sample_error("once resized",
                      [] { draw_params(plan_of("crop_size: 20 augment { short_side: 10 }"), 3, 30, 30, 1, 0, 0); });
  expect_sample_error("would become", [] { draw_params(plan_of("augment { short_side: 60000 }"), 3, 3, 3, 1, 0, 0); });
}

}  // namespace

}  // namespace cortado::data::testing
