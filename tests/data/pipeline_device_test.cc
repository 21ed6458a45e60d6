// Compares variants of the pipeline with the simplest one (the CPU, no cache): the simulated device, whose memory the
// host cannot access, other layouts and types, and decoded datasets in memory.
#include <cstring>

#include "core/device/device_memory.h"
#include "core/half.h"
#include "data/formats/datum.h"
#include "data/pipeline/pipeline.h"
#include "tests/data/augment_fixtures.h"

namespace cortado::data::testing {

namespace {

std::string key_of(int i) { return std::to_string(10000 + i); }

/// Records of several sizes: bytes, floats or JPEGs.
Records records_of(const std::string& kind, int n) {
  Records records;
  RandomStream random{9};
  for (int i = 0; i < n; ++i) {
    const int height = 30 + i % 5, width = 40 - i % 7;
    if (kind == "jpeg") {
      records[key_of(i)] = make_encoded_datum(encode_image(picture(3, height, width, i), "jpg"), i % 10);
    } else if (kind == "bytes") {
      records[key_of(i)] = make_datum(3, height, width, random_bytes(random, size_t(3 * height * width)), i % 10);
    } else {
      caffe::Datum datum;
      datum.set_channels(3);
      datum.set_height(height);
      datum.set_width(width);
      datum.set_label(i % 10);
      for (int k = 0; k < 3 * height * width; ++k) datum.add_float_data(random.uniform() * 255);
      records[key_of(i)] = datum.SerializeAsString();
    }
  }
  return records;
}

struct Batch {
  std::vector<float> data, labels;
  bool operator==(const Batch&) const = default;
};

/// The first `n` batches, from a device of this kind in this layout and type, converted to plain floats.
template <typename T>
std::vector<Batch> batches_of(const PipelineOptions& options, int n, DeviceKind kind, DType dtype, Layout layout,
                              uint64_t from = 0) {
  Context context({.threads = 2, .device = {kind, 0}});
  DataPipeline pipeline(options);
  const Shape shape = pipeline.data_shape(), label_shape = pipeline.label_shape();
  DeviceMemory y(context, size_t(shape.count()) * sizeof(T)), labels(context, size_t(label_shape.count()) * 4);
  if (from > 0) {
    pipeline.read(context, {{shape, dtype, layout}, context.device, y.data()}, {});
    pipeline.seek(from);
  }
  std::vector<Batch> batches;
  for (int b = 0; b < n; ++b) {
    pipeline.read(context, {{shape, dtype, layout}, context.device, y.data()},
                  {{label_shape}, context.device, labels.data()});
    std::vector<T> got(size_t(shape.count()));
    Batch batch{std::vector<float>(got.size()), std::vector<float>(size_t(label_shape.count()))};
    copy_to_host(context, got.data(), y.data(), got.size() * sizeof(T));
    copy_to_host(context, batch.labels.data(), labels.data(), batch.labels.size() * 4);
    const size_t channels = size_t(shape[1]), area = size_t(shape[2] * shape[3]);
    for (size_t i = 0; i < got.size(); ++i) {
      const size_t image = i / (channels * area), c = i / area % channels, pixel = i % area;
      const bool last = layout == Layout::kChannelsLast;
      batch.data[i] = float(got[last ? (image * area + pixel) * channels + c : i]);
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

std::vector<Batch> plain_batches(const PipelineOptions& options, int n, DeviceKind kind = DeviceKind::kCpu) {
  return batches_of<float>(options, n, kind, DType::kF32, Layout::kPlain);
}

PipelineOptions options_for(const std::string& source, const std::string& transform) {
  PipelineOptions options;
  options.source = source;
  options.batch_size = 7;
  options.threads = 3;
  options.shuffle = Shuffle::kExact;
  options.transform = plan_of(transform);
  return options;
}

const char* const kTransforms[] = {
    "crop_size: 24 mirror: true mean_value: 104 mean_value: 117 mean_value: 123 scale: 0.5",
    "crop_size: 16 augment { resized_crop { } flip_h: 0.5 }",
    "crop_size: 20 augment { resized_crop { } brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.1 noise: 5 "
    "erase { } rand_augment { } }"};

void expect_close(const std::vector<Batch>& got, const std::vector<Batch>& expected, float tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t b = 0; b < got.size(); ++b) {
    ASSERT_EQ(got[b].labels, expected[b].labels) << what;
    for (size_t i = 0; i < got[b].data.size(); ++i)
      ASSERT_NEAR(got[b].data[i], expected[b].data[i], tolerance) << what << ", batch " << b;
  }
}

class PipelineDevice : public ::testing::TestWithParam<const char*> {
 protected:
  PipelineDevice() { write_with_library(folder_ / "db", records_of(GetParam(), 45)); }
  PipelineOptions options(const char* transform) const { return options_for(folder_ / "db", transform); }
  Folder folder_;
};

TEST_P(PipelineDevice, HasTheBatchesOfTheCpu) {
  for (const char* transform : kTransforms)
    for (const int prefetch : {1, 2, 4}) {
      PipelineOptions given = options(transform);
      given.prefetch = prefetch;
      const std::vector<Batch> expected = plain_batches(given, 15);
      EXPECT_NE(expected[0], expected[1]);
      expect_close(plain_batches(given, 15, DeviceKind::kSimulated), expected, 255e-5f, transform);
      if (transform == kTransforms[0]) {
        EXPECT_EQ(plain_batches(given, 15, DeviceKind::kSimulated), expected);
      }
    }
}

TEST_P(PipelineDevice, ThreadsDoNotMatter) {
  for (const char* transform : kTransforms) {
    PipelineOptions given = options(transform);
    const std::vector<Batch> expected = plain_batches(given, 9);
    for (const int threads : {1, 2, 8}) {
      given.threads = threads;
      EXPECT_EQ(plain_batches(given, 9), expected) << threads;
    }
  }
}

TEST_P(PipelineDevice, SeeksAsTheCpuDoes) {
  const PipelineOptions given = options(kTransforms[0]);
  const auto straight = plain_batches(given, 9);
  const auto sought = batches_of<float>(given, 4, DeviceKind::kSimulated, DType::kF32, Layout::kPlain, 35);
  for (size_t b = 0; b < 4; ++b) EXPECT_EQ(sought[b], straight[b + 5]);
}

TEST_P(PipelineDevice, WritesOtherLayoutsAndTypes) {
  const PipelineOptions given = options(kTransforms[0]);
  const auto expected = plain_batches(given, 3);
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kSimulated}) {
    expect_close(batches_of<float>(given, 3, kind, DType::kF32, Layout::kChannelsLast), expected, 0, "last");
    expect_close(batches_of<Half>(given, 3, kind, DType::kF16, Layout::kChannelsLast), expected, 0.07f, "f16");
    expect_close(batches_of<BFloat16>(given, 3, kind, DType::kBF16, Layout::kPlain), expected, 0.6f, "bf16");
  }
}

TEST_P(PipelineDevice, CachesChangeNothing) {
  for (const char* transform : kTransforms)
    for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kSimulated}) {
      PipelineOptions given = options(transform);
      const std::vector<Batch> expected = plain_batches(given, 15, kind);
      for (const CacheOn cache : {CacheOn::kHost, CacheOn::kDevice}) {
        given.cache = cache;
        const float tolerance = GetParam() == std::string("jpeg") && transform != kTransforms[0] ? 30 : 0;
        expect_close(plain_batches(given, 15, kind), expected, tolerance, transform);  // JPEGs may be at half scale
      }
    }
}

TEST_P(PipelineDevice, MixesPairsLikeTheCpu) {
  PipelineOptions given = options("crop_size: 20 augment { mix { classes: 10 mixup_alpha: 0.4 cutmix_alpha: 1 } }");
  const auto expected = plain_batches(given, 9);
  EXPECT_EQ(expected[0].labels.size(), 70u);
  for (const Batch& batch : expected)
    for (int i = 0; i < 7; ++i) {
      float sum = 0;
      for (int k = 0; k < 10; ++k) sum += batch.labels[size_t(i * 10 + k)];
      EXPECT_NEAR(sum, 1, 1e-6);
    }
  EXPECT_EQ(plain_batches(given, 9, DeviceKind::kSimulated), expected);
  given.threads = 1;
  EXPECT_EQ(plain_batches(given, 9), expected);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PipelineDevice, ::testing::Values("bytes", "floats", "jpeg"));

TEST(PipelineCache, NamesTheRecordThatCannotBeDecoded) {
  const Folder folder;
  Records records = records_of("jpeg", 12);
  records[key_of(7)] = make_encoded_datum(encode_image(picture(3, 30, 40), "jpg").substr(0, 500), 0);
  write_with_library(folder / "db", records);
  PipelineOptions options = options_for(folder / "db", "crop_size: 16");
  options.cache = CacheOn::kHost;
  expect_error([&] { plain_batches(options, 1); }, ExitCode::kData, "record '10007'");
}

}  // namespace

}  // namespace cortado::data::testing
