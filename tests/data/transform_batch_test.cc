// The device's kernel against the CPU's rows: geometry has equal bits, colours agree to 1e-5 of their range (with equal
// bits in a build without CUDA).
#include "data/augment/transform_batch.h"

#include "core/device/device_memory.h"
#include "core/half.h"
#include "tests/data/augment_fixtures.h"

namespace cortado::data::testing {

namespace {

/// A batch of samples of any kind, and the CPU's result for each.
struct Batch {
  Batch(const std::string& options, bool of_floats, int channels) : plan(plan_of(options)) {
    for (int i = 0; i < 6; ++i) {
      pictures.emplace_back(channels, 20 + i, 31 - i, i % 2 != 0, of_floats);
      const Sample& sample = pictures.back().sample;
      samples.push_back({int64_t(bytes.size()), channels, sample.height, sample.width, sample.interleaved, of_floats});
      const auto* from = of_floats ? reinterpret_cast<const uint8_t*>(sample.floats) : sample.bytes;
      bytes.insert(bytes.end(), from, from + sample.count() * (of_floats ? 4 : 1));
      while (bytes.size() % 4 != 0) bytes.push_back(0);
      params.push_back(resolve_params(draw_of(plan, sample, uint64_t(i)), sample));
      const std::vector<float> one = made(sample, plan, params.back());
      expected.insert(expected.end(), one.begin(), one.end());
    }
    shape = {6, channels, params[0].out_height, params[0].out_width};
  }

  TransformPlan plan;
  std::vector<Picture> pictures;
  std::vector<uint8_t> bytes;
  std::vector<RawSample> samples;
  std::vector<AugmentParams> params;
  std::vector<float> expected;
  Shape shape;
};

template <typename T>
DeviceMemory sent(Context& context, const std::vector<T>& values) {
  DeviceMemory memory(context, std::max<size_t>(values.size() * sizeof(T), 1));
  if (!values.empty()) copy_to_device(context, memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

/// The device's result for the batch, in row-major order.
template <typename T>
std::vector<float> on_device(const Batch& given, DeviceKind kind, DType dtype, Layout layout, int threads = 1) {
  Context context({.threads = threads, .device = {kind, 0}});
  const DeviceMemory bytes = sent(context, given.bytes), samples = sent(context, given.samples),
                     params = sent(context, given.params), mean = sent(context, mean_floats(given.plan));
  DeviceMemory y(context, size_t(given.shape.count()) * sizeof(T));
  const RawBatch batch{6, reinterpret_cast<const uint8_t*>(bytes.data()),
                       reinterpret_cast<const RawSample*>(samples.data()),
                       reinterpret_cast<const AugmentParams*>(params.data()),
                       mean_floats(given.plan).empty() ? nullptr : reinterpret_cast<const float*>(mean.data())};
  transform_batch(context, batch, given.plan, Tensor{{given.shape, dtype, layout}, context.device, y.data()});
  std::vector<T> got(size_t(given.shape.count()));
  copy_to_host(context, got.data(), y.data(), got.size() * sizeof(T));
  std::vector<float> plain(got.size());
  const size_t channels = size_t(given.shape[1]), area = size_t(given.shape[2] * given.shape[3]);
  for (size_t i = 0; i < got.size(); ++i) {
    const size_t n = i / (channels * area), c = i / area % channels, pixel = i % area;
    plain[i] = float(got[layout == Layout::kPlain ? i : (n * area + pixel) * channels + c]);
  }
  return plain;
}

const char* const kOptions[] = {
    "crop_size: 11 mirror: true mean_value: 100 scale: 0.02",
    "crop_h: 12 crop_w: 9 mean_value: 1 mean_value: 2 mean_value: 3 augment { flip_v: 0.5 flip_h: 0.5 }",
    "crop_size: 13 augment { resized_crop {} }",
    "crop_size: 13 augment { resized_crop {} filter: CUBIC smooth: false }",
    "crop_size: 13 augment { resized_crop {} filter: LANCZOS }",
    "crop_size: 9 augment { short_side: 10 short_side_max: 14 filter: AREA flip_v: 0.5 }",
    "crop_size: 13 augment { short_side: 33 filter: NEAREST }",
    "crop_size: 16 augment { rotate: 45 shear: 10 translate: 0.2 zoom_min: 0.6 zoom_max: 1.5 fill_value: 9 }",
    "crop_size: 16 augment { rotate: 180 border: REFLECT translate: 1 }",
    "crop_size: 16 augment { zoom_min: 0.3 zoom_max: 0.5 border: EDGE }",
    "crop_size: 24 pad: 4 mirror: true mean_value: 90",
    "crop_size: 16 augment { blur { prob: 0.8 } resized_crop {} }",
    "crop_size: 16 augment { noise: 20 erase { prob: 0.7 } }",
    "crop_size: 16 mean_value: 50 augment { erase { prob: 0.7 value: NOISE } }",
    "crop_size: 16 noise_param { prob: 0.7 gauss_blur: true saltpepper: true saltpepper_param { fraction: 0.2 } }",
    "resize_param { height: 15 width: 19 resize_mode: FIT_LARGE_SIZE_AND_PAD pad_value: 7 interp_mode: LINEAR "
    "interp_mode: CUBIC } expand_param { max_expand_ratio: 2 }",
};

const char* const kColors[] = {
    "crop_size: 16 augment { brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.2 grayscale: 0.3 }",
    "crop_size: 16 augment { resized_crop {} rand_augment { ops: 4 magnitude: 20 } }",
    "crop_size: 16 augment { resized_crop {} auto_augment: IMAGENET }",
    "crop_size: 16 mean_value: 99 augment { auto_augment: CIFAR10 }",
    "crop_size: 16 distort_param { brightness_prob: 0.5 brightness_delta: 32 contrast_prob: 0.5 contrast_lower: 0.5 "
    "contrast_upper: 1.5 hue_prob: 0.5 hue_delta: 18 saturation_prob: 0.5 saturation_lower: 0.5 saturation_upper: 1.5 "
    "random_order_prob: 0.5 } bgr2rgb: true",
    "resize_param { height: 15 width: 19 } expand_param { max_expand_ratio: 3 } mean_value: 60 distort_param { "
    "brightness_prob: 1 brightness_delta: 60 saturation_prob: 1 saturation_lower: 0 saturation_upper: 2 } bgr2rgb: "
    "true",
    "crop_size: 16 augment { rotate: 45 fill_value: 70 brightness: 0.5 } distort_param { hue_prob: 1 hue_delta: 36 }",
    "crop_size: 16 noise_param { prob: 1 hist_eq: true inverse: true decolorize: true posterize: true }",
};

TEST(TransformBatch, HasTheBitsOfTheCpu) {
  for (const char* options : kOptions)
    for (const bool of_floats : {false, true})
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
        const Batch batch(options, of_floats, 3);
        EXPECT_EQ(on_device<float>(batch, DeviceKind::kSimulated, DType::kF32, layout), batch.expected) << options;
      }
}

TEST(TransformBatch, HasTheColorsOfTheCpu) {
  for (const char* options : kColors)
    for (const int channels : {1, 3}) {
      const Batch batch(options, false, channels);
      const std::vector<float> got = on_device<float>(batch, DeviceKind::kSimulated, DType::kF32, Layout::kPlain);
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], batch.expected[i], 255 * 1e-5) << options;
    }
}

TEST(TransformBatch, DoesNotDependOnThreads) {
  const Batch batch("crop_size: 16 augment { resized_crop {} auto_augment: IMAGENET noise: 5 erase {} }", false, 3);
  for (const int threads : {2, 8})
    EXPECT_EQ(on_device<float>(batch, DeviceKind::kCpu, DType::kF32, Layout::kPlain, threads),
              on_device<float>(batch, DeviceKind::kCpu, DType::kF32, Layout::kPlain));
}

TEST(TransformBatch, RoundsTo16Bits) {
  const Batch batch("crop_size: 13 mean_value: 100 scale: 0.0171 augment { resized_crop {} }", false, 3);
  const std::vector<float> half = on_device<Half>(batch, DeviceKind::kSimulated, DType::kF16, Layout::kChannelsLast);
  const std::vector<float> brain = on_device<BFloat16>(batch, DeviceKind::kSimulated, DType::kBF16, Layout::kPlain);
  for (size_t i = 0; i < half.size(); ++i) {
    EXPECT_EQ(half[i], float(Half(batch.expected[i])));
    EXPECT_EQ(brain[i], float(BFloat16(batch.expected[i])));
  }
}

/// Random options, many near or at the limits of their ranges.
std::string random_options(RandomStream& random) {
  std::string text = "mirror: true mean_value: 10 pad: " + std::to_string(random.below(6)) +
                     " crop_size: " + std::to_string(1 + random.below(30)) + " augment { ";
  const auto maybe = [&](const std::string& name, const std::vector<std::string>& values) {
    if (random.below(3) == 0) text += name + values[random.below(values.size())] + " ";
  };
  if (random.below(2) == 0)
    maybe("resized_crop ", {"{}", "{ min_area: 0.000001 max_area: 0.0001 }", "{ min_aspect: 0.01 max_aspect: 100 }"});
  else
    text += "short_side: " + std::to_string(30 + random.below(50)) + " ";
  maybe("filter: ", {"NEAREST", "LINEAR", "CUBIC", "AREA", "LANCZOS"});
  maybe("smooth: ", {"false"});
  maybe("border: ", {"FILL", "EDGE", "REFLECT"});
  maybe("rotate: ", {"0.001", "20", "180"});
  maybe("shear: ", {"5", "60"});
  maybe("translate: ", {"0.1", "1"});
  maybe("", {"zoom_min: 0.01", "zoom_max: 100", "zoom_min: 0.5 zoom_max: 2"});
  maybe("flip_v: ", {"0.5"});
  maybe("noise: ", {"20"});
  maybe("blur { prob: 1 ", {"}", "min_sigma: 16 max_sigma: 16 }"});
  maybe("erase { prob: 1 ", {"}", "min_area: 1 max_area: 1 }", "value: NOISE }"});
  maybe("rand_augment ", {"{}", "{ ops: 8 magnitude: 30 }"});
  maybe("hue: ", {"0.5"});
  return text + "}";
}

TEST(TransformBatch, AgreesWithTheCpuForRandomOptions) {
  RandomStream random(77);
  for (int i = 0; i < 150; ++i) {
    const std::string options = random_options(random);
    const TransformPlan plan = plan_of(options);
    const int height = 31 + int(random.below(90)), width = 31 + int(random.below(90));
    const Picture picture(3, height, width, random.below(2) == 0);
    const AugmentParams params = resolve_params(draw_of(plan, picture.sample, uint64_t(i)), picture.sample);
    const std::vector<float> expected = made(picture.sample, plan, params);
    Context context;
    const RawSample raw{0, 3, height, width, picture.sample.interleaved, false};
    const RawBatch batch{1, picture.bytes.data(), &raw, &params, plan.mean_values.data()};
    std::vector<float> y(expected.size());
    transform_batch(context, batch, plan, plain_view({1, 3, params.out_height, params.out_width}, y.data()));
    for (size_t k = 0; k < y.size(); ++k) {
      ASSERT_TRUE(std::isfinite(y[k])) << options;
      ASSERT_NEAR(y[k], expected[k], 255 * 1e-5) << options;
    }
    const SourceWindow window = source_window(params);
    ASSERT_GE(window.top, 0);
    ASSERT_GE(window.left, 0);
    ASSERT_LE(window.top + window.height, height) << options;
    ASSERT_LE(window.left + window.width, width) << options;
    ASSERT_GE(window.height, 1);
    ASSERT_GE(window.width, 1);
  }
}

TEST(TransformBatch, TakesAnyNumberOfChannels) {
  for (const int channels : {1, 2, 4, 5, 9}) {
    const Batch batch("crop_size: 16 augment { resized_crop {} noise: 5 fill_value: 4 rotate: 30 }", channels % 2 == 0,
                      channels);
    EXPECT_EQ(on_device<float>(batch, DeviceKind::kSimulated, DType::kF32, Layout::kPlain), batch.expected) << channels;
  }
}

TEST(TransformBatch, ReadsTheMeanImageAlongWithTheCrop) {
  TransformPlan plan = plan_of("crop_size: 8 mirror: true augment { brightness: 0.3 flip_v: 0.5 }");
  auto mean = std::make_shared<MeanImage>();
  *mean = {"mean", 3, 20, 31, {}};
  for (int i = 0; i < 3 * 20 * 31; ++i) mean->values.push_back(float(i % 97));
  plan.mean = mean;
  const Picture picture(3, 20, 31);
  for (uint64_t index = 0; index < 20; ++index) {
    const AugmentParams params = resolve_params(draw_of(plan, picture.sample, index), picture.sample);
    TransformPlan without = plan;
    without.mean = nullptr;
    const std::vector<float> with = made(picture.sample, plan, params), base = made(picture.sample, without, params);
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < 8; ++y)
        for (int x = 0; x < 8; ++x) {
          const int64_t row = (params.map[5] >> 32) + y * (params.map[4] >> 32);
          const int64_t column = (params.map[2] >> 32) + x * (params.map[0] >> 32);
          const size_t i = size_t((c * 8 + y) * 8 + x);
          ASSERT_EQ(with[i], base[i] - mean->values[size_t((c * 20 + row) * 31 + column)]);
        }
    Context context;
    const RawSample raw{0, 3, 20, 31, false, false};
    const RawBatch batch{1, picture.bytes.data(), &raw, &params, mean->values.data()};
    std::vector<float> y(with.size());
    transform_batch(context, batch, plan, plain_view({1, 3, 8, 8}, y.data()));
    ASSERT_EQ(y, with);
  }
}

}  // namespace

}  // namespace cortado::data::testing
