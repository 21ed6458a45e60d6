#include "data/pipeline/pipeline.h"

#include <chrono>
#include <thread>

#include "core/files/mapped_file.h"
#include "core/process/sanitized.h"
#include "data/formats/datum.h"
#include "data/pipeline/pipeline_options.h"
#include "data/sources/lmdb_source.h"
#include "tests/data/fixtures.h"
#include "tests/harness/forked.h"

namespace cortado::data::testing {

namespace {

std::string key_of(int i) { return std::to_string(10000 + i); }

/// Raw bytes of 3 x 9 x 11, whose pixel values and label identify the record.
std::string raw_datum(int i, int height = 9) {
  RandomStream random{uint64_t(i)};
  return make_datum(3, height, 11, random_bytes(random, size_t(3 * height * 11)), i);
}

Records raw_records(int n) {
  Records records;
  for (int i = 0; i < n; ++i) records[key_of(i)] = raw_datum(i);
  return records;
}

Records jpeg_records(int n) {
  Records records;
  for (int i = 0; i < n; ++i) records[key_of(i)] = make_encoded_datum(encode_image(picture(3, 24, 20, i), "jpg"), i);
  return records;
}

struct Batch {
  std::vector<float> data, labels;
  bool operator==(const Batch&) const = default;
};

Batch read_batch(DataPipeline& pipeline) {
  Batch batch{std::vector<float>(size_t(pipeline.data_shape().count())),
              std::vector<float>(size_t(pipeline.label_shape().count()))};
  Context context(2);
  pipeline.read(context, plain_view(pipeline.data_shape(), batch.data.data()),
                plain_view(pipeline.label_shape(), batch.labels.data()));
  return batch;
}

std::vector<Batch> read_batches(const PipelineOptions& options, int n) {
  DataPipeline pipeline(options);
  std::vector<Batch> batches;
  for (int i = 0; i < n; ++i) batches.push_back(read_batch(pipeline));
  return batches;
}

PipelineOptions options_for(const std::string& source, int batch_size) {
  PipelineOptions options;
  options.source = source;
  options.batch_size = batch_size;
  return options;
}

void augment(PipelineOptions& options) {
  options.shuffle = Shuffle::kExact;
  options.transform.crop_h = options.transform.crop_w = 7;
  options.transform.random_crop = options.transform.mirror = true;
  options.transform.mean_values = {10, 20, 30};
  options.transform.scale = 0.5f;
}

TEST(Pipeline, ReadsRecordsInOrderAndWrapsWithinABatch) {
  const Folder folder;
  const Records records = raw_records(10);
  write_with_library(folder / "db", records);
  DataPipeline pipeline(options_for(folder / "db", 4));
  EXPECT_EQ(pipeline.data_shape(), (Shape{4, 3, 9, 11}));
  EXPECT_EQ(pipeline.label_shape(), (Shape{4}));
  EXPECT_EQ(pipeline.records(), 10);
  for (int b = 0; b < 7; ++b) {
    EXPECT_EQ(pipeline.position(), uint64_t(4 * b));
    const Batch batch = read_batch(pipeline);
    for (int i = 0; i < 4; ++i) {
      const int record = (4 * b + i) % 10;
      EXPECT_EQ(batch.labels[size_t(i)], float(record));
      std::vector<float> floats;
      const std::string datum = raw_datum(record);
      const Sample expected = parse_datum(datum, floats).raw;
      for (int k = 0; k < 297; ++k) ASSERT_EQ(batch.data[size_t(i * 297 + k)], float(expected.bytes[k]));
    }
  }
}

TEST(Pipeline, ThreadsAndPrefetchDoNotChangeBatches) {
  const Folder folder;
  write_with_library(folder / "raw", raw_records(50));
  write_with_library(folder / "jpeg", jpeg_records(50));
  for (const char* name : {"raw", "jpeg"}) {
    PipelineOptions options = options_for(folder / name, 16);
    augment(options);
    const std::vector<Batch> expected = read_batches(options, 12);
    EXPECT_NE(expected[0], expected[1]);
    for (const auto& [threads, prefetch] : {std::pair{8, 4}, {2, 1}, {3, 9}, {16, 2}}) {
      options.threads = threads;
      options.prefetch = prefetch;
      EXPECT_EQ(read_batches(options, 12), expected) << name << ", " << threads << " threads";
    }
  }
}

TEST(Pipeline, KnowsTheRecordOfEachSample) {
  const Folder folder;
  write_with_library(folder / "db", raw_records(50));
  for (const Shuffle shuffle : {Shuffle::kNone, Shuffle::kExact, Shuffle::kBlocks})
    for (const BatchShare share : {BatchShare{}, BatchShare{2, 3, 7}}) {
      PipelineOptions options = options_for(folder / "db", 8);
      options.shuffle = shuffle;
      options.share = share;
      DataPipeline pipeline(options);
      EXPECT_EQ(pipeline.shuffles(), shuffle != Shuffle::kNone);
      for (int b = 0; b < 20; ++b) {
        const Batch batch = read_batch(pipeline);
        for (size_t i = 0; i < 8; ++i)
          ASSERT_EQ(pipeline.record(pipeline.place(int64_t(i))).key, key_of(int(batch.labels[i]))) << "batch " << b;
      }
    }
}

/// Three processes read two, three and two of every seven batches.
TEST(Pipeline, SharesOfTheBatchesCoverTheOrderAndContinueAnywhere) {
  const Folder folder;
  write_with_library(folder / "db", raw_records(50));
  PipelineOptions options = options_for(folder / "db", 8);
  augment(options);
  options.shuffle = Shuffle::kExact;
  const std::vector<Batch> all = read_batches(options, 21);
  for (const BatchShare share : {BatchShare{0, 2, 7}, BatchShare{2, 3, 7}, BatchShare{5, 2, 7}}) {
    options.share = share;
    DataPipeline straight(options), continued(options);
    for (int64_t own = 0; own < 3 * share.run; ++own) {
      ASSERT_EQ(read_batch(straight), all[size_t(share.batch(own))]) << "from " << share.first << ", batch " << own;
      if (own % share.run == share.run - 1) {
        EXPECT_EQ(straight.position(), uint64_t(own / share.run + 1) * 7 * 8);
      }
    }
    continued.seek(7 * 8);
    EXPECT_EQ(read_batch(continued), all[size_t(share.batch(share.run))]);
    continued.repeat();
    EXPECT_EQ(read_batch(continued), all[size_t(share.batch(share.run))]);
    EXPECT_EQ(read_batch(continued), all[size_t(share.batch(share.run + 1))]);
  }
}

TEST(LmdbSource, VisitsLabelsOfAllOrOfEvenlySpacedRecords) {
  const Folder folder;
  constexpr int kRecords = 30000;  // a tree of three levels
  write_with_library(folder / "db", [] {
    Records records;
    for (int i = 0; i < kRecords; ++i) records[std::to_string(100000 + i)] = make_datum(1, 2, 2, "abcd", i);
    return records;
  }());
  const auto source = lmdb_source(Lmdb::open(folder / "db"));
  for (const int most : {kRecords, kRecords + 1, 1000, 7, 1}) {
    std::vector<int32_t> labels;
    source->visit_labels(most, [&](const Record& record, Label label) {
      EXPECT_EQ(record.key, std::to_string(100000 + class_of(label)));
      labels.push_back(label);
    });
    ASSERT_EQ(labels.size(), size_t(std::min(most, kRecords)));
    for (size_t i = 0; i < labels.size(); ++i)
      EXPECT_NEAR((double(i) + 0.5) / double(labels.size()), double(labels[i]) / kRecords, 0.1) << most;
    EXPECT_TRUE(std::is_sorted(labels.begin(), labels.end()));
  }
}

/// Batches of 16 of a new dataset of 50 records.
PipelineOptions augmented_options(const Folder& folder) {
  write_with_library(folder / "db", raw_records(50));
  PipelineOptions options = options_for(folder / "db", 16);
  options.threads = 3;
  augment(options);
  return options;
}

TEST(Pipeline, SeekingEqualsReadingOn) {
  const Folder folder;
  const PipelineOptions options = augmented_options(folder);
  const std::vector<Batch> expected = read_batches(options, 12);
  DataPipeline pipeline(options);
  for (const int from : {7, 0, 3, 11, 4}) {
    pipeline.seek(uint64_t(from * 16));
    EXPECT_EQ(pipeline.position(), uint64_t(from * 16));
    for (int b = from; b < std::min(from + 3, 12); ++b) EXPECT_EQ(read_batch(pipeline), expected[size_t(b)]) << b;
  }
}

TEST(Pipeline, AForkedChildGoesOnWithTheNextBatch) {
  if (kThreadSanitized) GTEST_SKIP() << "it does not start threads in a child of a process with threads";
  const Folder folder;
  const PipelineOptions options = augmented_options(folder);
  const std::vector<Batch> expected = read_batches(options, 12);
  auto pipeline = std::make_unique<DataPipeline>(options);
  for (size_t b = 0; b < 4; ++b) EXPECT_EQ(read_batch(*pipeline), expected[b]) << b;
  const auto right_from = [&](size_t first) {
    for (size_t b = first; b < first + 4; ++b)
      if (read_batch(*pipeline) != expected[b]) return false;
    return true;
  };
  EXPECT_EQ(status_in_child([&] { return right_from(4) && right_from(8); }), 0);
  EXPECT_EQ(status_in_child([&] {
              pipeline->repeat();
              return right_from(3);
            }),
            0);
  EXPECT_EQ(status_in_child([&] {
              pipeline->seek(16);
              return right_from(1);
            }),
            0);
  EXPECT_EQ(status_in_child([&] {
              pipeline.reset();
              return true;
            }),
            0);
  EXPECT_TRUE(right_from(4));
}

TEST(Pipeline, RandSkipChangesTheStartAndResumes) {
  const Folder folder;
  write_with_library(folder / "db", raw_records(50));
  PipelineOptions options = options_for(folder / "db", 5);
  options.rand_skip = 40;
  DataPipeline pipeline(options);
  const uint64_t start = pipeline.position();
  EXPECT_LT(start, 40u);
  EXPECT_EQ(read_batch(pipeline).labels[0], float(start));
  const uint64_t position = pipeline.position();
  const Batch next = read_batch(pipeline);
  pipeline.seek(position);
  EXPECT_EQ(read_batch(pipeline), next);
}

TEST(Pipeline, CropsImagesOfDifferentSizes) {
  const Folder folder;
  Records records = raw_records(4);
  records[key_of(2)] = raw_datum(2, 15);
  write_with_library(folder / "db", records);
  PipelineOptions options = options_for(folder / "db", 4);
  options.transform.crop_h = options.transform.crop_w = 8;
  DataPipeline pipeline(options);
  EXPECT_EQ(read_batch(pipeline).labels[3], 3.0f);
}

/// The text of the error after `good` batches, which must not depend on the number of threads.
std::string error_after(PipelineOptions options, int good) {
  std::string text;
  for (const int threads : {1, 8}) {
    options.threads = threads;
    DataPipeline pipeline(options);
    for (int i = 0; i < good; ++i) read_batch(pipeline);
    std::string found;
    for (int again = 0; again < 2; ++again)
      expect_error(
          [&] {
            try {
              read_batch(pipeline);
            } catch (const Error& error) {
              EXPECT_TRUE(again == 0 || found == error.what());
              found = error.what();
              throw;
            }
          },
          ExitCode::kData, "");
    EXPECT_TRUE(threads == 1 || found == text) << found << text;
    text = found;
  }
  return text;
}

TEST(Pipeline, MixedSizesNameTheRecordAndBothShapes) {
  const Folder folder;
  Records records = raw_records(40);
  records[key_of(21)] = raw_datum(21, 10);
  records[key_of(23)] = raw_datum(23, 12);
  write_with_library(folder / "db", records);
  const std::string text = error_after(options_for(folder / "db", 8), 2);
  for (const char* part : {"/db", "record '10021'", "3x10x11", "3x9x11", "crop_size"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Pipeline, UndecodableAndInconsistentRecordsAreNamed) {
  const Folder folder;
  Records records = jpeg_records(12);
  std::string& jpeg = records[key_of(9)];
  jpeg = make_encoded_datum(encode_image(picture(3, 24, 20), "jpg").substr(0, 400), 9);
  write_with_library(folder / "jpeg", records);
  EXPECT_NE(error_after(options_for(folder / "jpeg", 4), 2).find("record '10009': the JPEG cannot be decoded"),
            std::string::npos);

  records = raw_records(12);
  records[key_of(5)] = make_datum(3, 9, 11, "short", 0);
  write_with_library(folder / "raw", records);
  EXPECT_NE(error_after(options_for(folder / "raw", 4), 1).find("record '10005'"), std::string::npos);
  records[key_of(0)] = "no datum";
  write_with_library(folder / "first", records);
  expect_error([&] { DataPipeline pipeline(options_for(folder / "first", 4)); }, ExitCode::kData, "record '10000'");
}

TEST(Pipeline, ADatasetThatChangesWhileReadingIsAnError) {
  guard_mapped_files();
  const Folder folder;
  write_with_library(folder / "db", raw_records(5000));
  for (const bool shuffle : {false, true}) {
    PipelineOptions options = options_for(folder / "db", 10);
    options.threads = 4;
    options.shuffle = shuffle ? Shuffle::kExact : Shuffle::kNone;
    const std::string file = folder / "db/data.mdb", whole = read_file(file);
    DataPipeline pipeline(options);
    read_batch(pipeline);
    std::filesystem::resize_file(file, whole.size() / 3);
    expect_error(
        [&] {
          for (int i = 0; i < 1000; ++i) read_batch(pipeline);
        },
        ExitCode::kData, "was truncated");
    write_file(file, whole);
  }
}

TEST(Pipeline, EndsAtOnceWithBusyThreads) {
  const Folder folder;
  write_with_library(folder / "db", jpeg_records(30));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) {
    PipelineOptions options = options_for(folder / "db", 30);
    options.threads = 4;
    DataPipeline pipeline(options);
    if (i % 2) read_batch(pipeline);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Pipeline, CountsTheTimeItWaits) {
  const Folder folder;
  write_with_library(folder / "db", jpeg_records(30));
  DataPipeline pipeline(options_for(folder / "db", 30));
  EXPECT_EQ(pipeline.wait_seconds(), 0);
  for (int i = 0; i < 100 && pipeline.wait_seconds() == 0; ++i) read_batch(pipeline);  // faster than they are decoded
  EXPECT_GT(pipeline.wait_seconds(), 0);
}

caffe::LayerParameter data_layer() {
  caffe::LayerParameter layer;
  layer.set_type("Data");
  layer.mutable_data_param()->set_source("db");
  layer.mutable_data_param()->set_batch_size(4);
  return layer;
}

TEST(PipelineOptions, ComeFromTheLayer) {
  caffe::LayerParameter layer = data_layer();
  const PipelineOptions plain =
      make_database_options(layer, {.phase = caffe::TEST, .default_threads = 3, .seed = 8}, true);
  EXPECT_EQ(plain.threads, 3);
  EXPECT_EQ(plain.seed, 8u);
  EXPECT_EQ(plain.prefetch, 4);
  layer.mutable_data_param()->set_threads(5);
  layer.mutable_data_param()->set_seed(77);
  layer.mutable_data_param()->set_force_encoded_color(true);
  EXPECT_EQ(make_database_options(layer, {.default_threads = 3}, true).threads, 5);
  EXPECT_EQ(make_database_options(layer, {.default_threads = 3, .data_threads = 2}, true).threads, 2);
  EXPECT_EQ(make_database_options(layer, {}, true).seed, 77u);
  EXPECT_EQ(make_database_options(layer, {}, true).transform.color, ColorMode::kColor);
}

TEST(PipelineOptions, NameTheWrongField) {
  const auto expect_field = [](const std::string& field, const std::function<void(caffe::LayerParameter&)>& set) {
    caffe::LayerParameter layer = data_layer();
    set(layer);
    try {
      make_database_options(layer, {}, true);
      ADD_FAILURE() << "no error for " << field;
    } catch (const FieldError& error) {
      EXPECT_EQ(error.field(), field);
    }
  };
  expect_field("data_param.source", [](auto& layer) { layer.mutable_data_param()->clear_source(); });
  expect_field("data_param.batch_size", [](auto& layer) { layer.mutable_data_param()->set_batch_size(0); });
  expect_field("data_param.batch_size", [](auto& layer) { layer.mutable_data_param()->set_batch_size(4000000000u); });
  expect_field("data_param.prefetch", [](auto& layer) { layer.mutable_data_param()->set_prefetch(100000); });
  expect_field("data_param.shuffle_mode",
               [](auto& layer) { layer.mutable_data_param()->set_shuffle_mode(caffe::DataParameter::BLOCKS); });
  expect_field("data_param.threads", [](auto& layer) { layer.mutable_data_param()->set_threads(100000); });
}

}  // namespace

}  // namespace cortado::data::testing
