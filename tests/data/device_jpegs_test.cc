// JPEGs that the simulated device decodes, by a simulated nvJPEG (tests/nvjpeg), against JPEGs that the pipeline's
// threads decode.
#include "core/device/device_memory.h"
#include "data/formats/datum.h"
#include "data/image/png.h"
#include "data/pipeline/jpeg_decoding.h"
#include "data/pipeline/pipeline.h"
#include "tests/data/augment_fixtures.h"
#include "tests/data/jpeg_kinds.h"

namespace cortado::data::testing {

namespace {

constexpr int kRecords = 40, kBatch = 8;
constexpr const char* kCrop = "crop_size: 24 mirror: true mean_value: 104 scale: 0.5";

std::string key_of(int i) { return std::to_string(10000 + i); }

/// Which of kKinds are plain, and which of these the simulated nvJPEG decodes: all but 4:4:0.
bool is_plain(const Kind& kind) { return kind.components == 3 && !kind.progressive && kind.h <= 2; }
bool is_taken(const Kind& kind) { return is_plain(kind) && !(kind.h == 1 && kind.v == 2); }

/// Records of each kind with three components in turn, or of the first kind only.
std::vector<Kind> kinds_of_records(bool mixed) {
  std::vector<Kind> kinds;
  for (int i = 0; int(kinds.size()) < kRecords; ++i) {
    const Kind& kind = kKinds[mixed ? size_t(i) % std::size(kKinds) : 0];
    if (kind.components == 3) kinds.push_back(kind);
  }
  return kinds;
}

Records records_of(const std::vector<Kind>& kinds) {
  Records records;
  RandomStream random{9};
  for (int i = 0; i < int(kinds.size()); ++i)
    records[key_of(i)] =
        make_encoded_datum(encode(textured(random, 3, 90 + i % 5, 120 - i % 7), kinds[size_t(i)]), i % 10);
  return records;
}

PipelineOptions options_for(const std::string& source, const std::string& transform, int threads = 3) {
  PipelineOptions options;
  options.source = source;
  options.batch_size = kBatch;
  options.threads = threads;
  options.transform = plan_of(transform);
  return options;
}

/// The result of reading one epoch.
struct Epoch {
  std::vector<float> values;
  int64_t on_device = 0;
  std::string by;
};

Epoch epoch_of(const PipelineOptions& options, DecodeOn where, int batches = kRecords / kBatch) {
  Context context({.threads = 2, .device = {DeviceKind::kSimulated, 0}});
  JpegDecoding& decoding = context.handle<JpegDecoding>();
  decoding.wanted = where;
  DataPipeline pipeline(options);
  const Shape shape = pipeline.data_shape();
  const DeviceMemory y(context, size_t(shape.count()) * sizeof(float));
  Epoch epoch;
  std::vector<float> batch(size_t(shape.count()));
  for (int b = 0; b < batches; ++b) {
    pipeline.read(context, {{shape}, context.device, y.data()}, {});
    copy_to_host(context, batch.data(), y.data(), y.bytes());
    epoch.values.insert(epoch.values.end(), batch.begin(), batch.end());
  }
  epoch.on_device = decoding.on_device;
  epoch.by = decoding.by;
  return epoch;
}

TEST(PlainJpeg, IsBaselineInOneScanAndComplete) {
  RandomStream random{5};
  for (const Kind& kind : kKinds) {
    const std::string file = encode(textured(random, kind.components, 40, 50), kind);
    EXPECT_EQ(is_plain_jpeg(file), is_plain(kind)) << kind.name;
    EXPECT_FALSE(is_plain_jpeg(file.substr(0, file.size() - 2))) << kind.name;
  }
}

TEST(PlainJpeg, HasAKnownColourSpace) {
  RandomStream random{6};
  std::string file = encode(textured(random, 3, 40, 50), kKinds[0]);
  ASSERT_TRUE(is_plain_jpeg(file));
  std::string unmarked = file;
  unmarked.replace(file.find("JFIF"), 4, "ABCD");
  EXPECT_TRUE(is_plain_jpeg(unmarked));  // components 1, 2 and 3
  unmarked[unmarked.find(std::string("\xFF\xC0\x00\x11\x08", 5)) + 10] = 'R';
  EXPECT_FALSE(is_plain_jpeg(unmarked));
  for (const char transform : {0, 1, 2}) {
    const std::string adobe = std::string(
                                  "\xFF\xEE\x00\x0E"
                                  "Adobe\x00\x64\x00\x00\x00\x00",
                                  15) +
                              transform;
    EXPECT_EQ(is_plain_jpeg(file.substr(0, 2) + adobe + file.substr(2)), transform == 1);
  }
}

TEST(PlainJpeg, ReadsNothingBeyondItsInput) {
  RandomStream random{7};
  const std::string file = encode(textured(random, 3, 20, 20), kKinds[0]), end = "\xFF\xD9";
  const size_t scan = file.find("\xFF\xDA");
  for (size_t n = 0; n < scan + 4; ++n) {
    const std::string cut = file.substr(0, n) + end;
    const std::vector<char> exact(cut.begin(), cut.end());  // a sanitizer detects reads after its end
    EXPECT_FALSE(is_plain_jpeg({exact.data(), exact.size()})) << n;
  }
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = file;
    damaged[random.below(scan)] = char(random.below(256));
    is_plain_jpeg(damaged);  // either result is allowed
  }
}

class DeviceJpegs : public ::testing::Test {
 protected:
  std::string set(bool mixed) {
    write_with_library(folder_ / "db", records_of(kinds_of_records(mixed)));
    return folder_ / "db";
  }
  Folder folder_;
};

TEST_F(DeviceJpegs, HaveTheBatchesOfTheCpu) {
  const std::string source = set(true);
  int64_t taken = 0;
  for (const Kind& kind : kinds_of_records(true)) taken += is_taken(kind);
  ASSERT_GT(taken, kRecords / 3);
  for (const int prefetch : {1, 2, 4})
    for (const int threads : {1, 8}) {
      PipelineOptions options = options_for(source, kCrop, threads);
      options.prefetch = prefetch;
      const Epoch here = epoch_of(options, DecodeOn::kCpu), there = epoch_of(options, DecodeOn::kGpu);
      EXPECT_EQ(there.values, here.values) << prefetch << " " << threads;
      EXPECT_EQ(here.on_device, 0);
      EXPECT_EQ(there.on_device, taken);
      EXPECT_EQ(there.by, "nvJPEG 13.0, kernels");
    }
}

/// Scaled windows are read from the image in full size, as with a dataset that is cached decoded.
TEST_F(DeviceJpegs, AreDecodedInFullSize) {
  PipelineOptions options = options_for(set(false), "crop_size: 16 augment { resized_crop { } flip_h: 0.5 }");
  const Epoch there = epoch_of(options, DecodeOn::kAuto);
  EXPECT_EQ(there.on_device, kRecords);
  options.cache = CacheOn::kHost;
  const Epoch kept = epoch_of(options, DecodeOn::kGpu);
  EXPECT_EQ(there.values, kept.values);
  EXPECT_EQ(kept.on_device, 0);
  EXPECT_EQ(kept.by, "libjpeg-turbo");
}

TEST_F(DeviceJpegs, AreDecodedByTheCpuIfColoursAreMeasured) {
  const PipelineOptions options = options_for(set(false), "crop_size: 24 augment { rand_augment { } }");
  const Epoch here = epoch_of(options, DecodeOn::kCpu), there = epoch_of(options, DecodeOn::kGpu);
  EXPECT_GT(there.on_device, 0);
  EXPECT_LT(there.on_device, kRecords);
  ASSERT_EQ(there.values.size(), here.values.size());
  EXPECT_EQ(there.on_device, epoch_of(options, DecodeOn::kGpu).on_device);
}

TEST_F(DeviceJpegs, AreNotGrey) {
  const Epoch there = epoch_of(options_for(set(false), "crop_size: 24 force_gray: true"), DecodeOn::kGpu);
  EXPECT_EQ(there.on_device, 0);
}

TEST_F(DeviceJpegs, ReportDamageAsTheCpuDoes) {
  Records records = records_of(kinds_of_records(false));
  std::string file = encode(picture(3, 90, 120), kKinds[0]);
  for (size_t i = file.find("\xFF\xDA") + 40; i < file.size() - 2; ++i) file[i] = '\xFE';
  ASSERT_TRUE(is_plain_jpeg(file));
  records[key_of(10)] = make_encoded_datum(file, 0);
  write_with_library(folder_ / "db", records);
  const PipelineOptions options = options_for(folder_ / "db", kCrop);
  std::string said;
  for (const DecodeOn where : {DecodeOn::kCpu, DecodeOn::kGpu}) try {
      epoch_of(options, where);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData);
      EXPECT_NE(std::string(error.what()).find("record '10010'"), std::string::npos) << error.what();
      if (where == DecodeOn::kGpu) {
        EXPECT_EQ(error.what(), said);
      }
      said = error.what();
    }
}

/// The error is thrown again; after seek() the later batches are read.
TEST_F(DeviceJpegs, FailAgainWhenTheyAreReadAgain) {
  Records records = records_of(kinds_of_records(false));
  std::string file = encode(picture(3, 90, 120), kKinds[0]);
  for (size_t i = file.find("\xFF\xDA") + 40; i < file.size() - 2; ++i) file[i] = '\xFE';
  records[key_of(10)] = make_encoded_datum(file, 0);
  write_with_library(folder_ / "db", records);
  Context context({.device = {DeviceKind::kSimulated, 0}});
  context.handle<JpegDecoding>().wanted = DecodeOn::kGpu;
  DataPipeline pipeline(options_for(folder_ / "db", kCrop));
  const Shape shape = pipeline.data_shape();
  const DeviceMemory y(context, size_t(shape.count()) * sizeof(float));
  const auto read = [&] { pipeline.read(context, {{shape}, context.device, y.data()}, {}); };
  read();
  for (int i = 0; i < 2; ++i) expect_error(read, ExitCode::kData, "record '10010'");
  pipeline.seek(2 * kBatch);
  read();
  EXPECT_EQ(context.handle<JpegDecoding>().on_device, 2 * kBatch);
}

}  // namespace

}  // namespace cortado::data::testing
