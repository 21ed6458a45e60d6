// Bad records and their replacements, which do not depend on the number of threads and the first position.

#include "data/pipeline/bad_records.h"

#include "data/formats/datum.h"
#include "data/lmdb/lmdb_writer.h"
#include "data/pipeline/pipeline.h"
#include "tests/data/fixtures.h"

namespace cortado::data::testing {
namespace {

constexpr int kRecords = 40, kBatch = 8;

std::string key_of(int i) { return std::to_string(10000 + i); }

/// Grey images of one size; the label is the record's number.
std::string good(int i) {
  RandomStream random{uint64_t(i)};
  return make_datum(1, 4, 5, random_bytes(random, 20), i);
}

/// Three kinds of damage: bytes that do not parse, a truncated Datum, a Datum of another size.
Records records_with_bad(const std::vector<int>& bad) {
  Records records;
  for (int i = 0; i < kRecords; ++i) records[key_of(i)] = good(i);
  const std::string kinds[] = {"no datum", make_datum(1, 4, 5, "short", 0),
                               make_datum(1, 6, 5, std::string(30, 'x'), 0)};
  for (size_t k = 0; k < bad.size(); ++k) records[key_of(bad[k])] = kinds[k % 3];
  return records;
}

PipelineOptions options_for(const std::string& source, int64_t skip_bad, int threads = 1) {
  PipelineOptions options;
  options.source = source;
  options.batch_size = kBatch;
  options.threads = threads;
  options.skip_bad = skip_bad;
  return options;
}

std::vector<float> read_labels(DataPipeline& pipeline, std::vector<float>* data = nullptr) {
  std::vector<float> values(size_t(pipeline.data_shape().count())), labels(kBatch);
  Context context(1);
  pipeline.read(context, plain_view(pipeline.data_shape(), values.data()),
                plain_view(pipeline.label_shape(), labels.data()));
  if (data) *data = values;
  return labels;
}

TEST(BadRecords, TheNextGoodOneReplacesThem) {
  const Folder folder;
  write_with_library(folder / "db", records_with_bad({3, 12, 13, 39}));
  DataPipeline pipeline(options_for(folder / "db", 4));
  std::vector<float> labels;
  for (int batch = 0; batch < kRecords / kBatch; ++batch)
    for (const float label : read_labels(pipeline)) labels.push_back(label);
  for (int i = 0; i < kRecords; ++i) {
    const int wanted = i == 3 ? 4 : i == 12 || i == 13 ? 14 : i == 39 ? 0 : i;
    EXPECT_EQ(labels[size_t(i)], float(wanted)) << i;
  }
}

TEST(BadRecords, ThreadsOrderCacheAndPositionDoNotMatter) {
  const Folder folder;
  write_with_library(folder / "db", records_with_bad({0, 7, 8, 21, 30}));
  for (const Shuffle shuffle : {Shuffle::kNone, Shuffle::kExact}) {
    std::vector<std::vector<float>> wanted;
    const auto options = [&](int threads, CacheOn cache) {
      PipelineOptions made = options_for(folder / "db", 5, threads);
      made.shuffle = shuffle;
      made.cache = cache;
      return made;
    };
    DataPipeline alone(options(1, CacheOn::kNowhere));
    for (int i = 0; i < 12; ++i) read_labels(alone, &wanted.emplace_back());
    for (const CacheOn cache : {CacheOn::kNowhere, CacheOn::kHost}) {
      DataPipeline many(options(4, cache));
      std::vector<float> values;
      many.seek(3 * kBatch);
      for (size_t i = 3; i < wanted.size(); ++i) {
        read_labels(many, &values);
        EXPECT_EQ(values, wanted[i]) << "batch " << i;
      }
    }
  }
}

TEST(BadRecords, OneBeyondTheLimitIsReportedEachTime) {
  const Folder folder;
  write_with_library(folder / "db", records_with_bad({9, 17, 25}));
  for (const int threads : {1, 4}) {
    DataPipeline pipeline(options_for(folder / "db", 2, threads));
    for (int batch = 0; batch < 3; ++batch) read_labels(pipeline);
    for (int again = 0; again < 2; ++again) {
      expect_error([&] { read_labels(pipeline); }, ExitCode::kData, "record '10025'");
      expect_error([&] { read_labels(pipeline); }, ExitCode::kData, "2 bad records were skipped before");
    }
  }
}

TEST(BadRecords, AreCountedOnceInAllEpochs) {
  const Folder folder;
  write_with_library(folder / "db", records_with_bad({9}));
  DataPipeline pipeline(options_for(folder / "db", 1));
  for (int batch = 0; batch < 20; ++batch) read_labels(pipeline);
  pipeline.seek(0);
  for (int batch = 0; batch < 5; ++batch) read_labels(pipeline);
}

TEST(BadRecords, AreErrorsByDefault) {
  const Folder folder;
  write_with_library(folder / "db", records_with_bad({9}));
  DataPipeline pipeline(options_for(folder / "db", 0));
  read_labels(pipeline);
  expect_error([&] { read_labels(pipeline); }, ExitCode::kData, "record '10009'");
}

TEST(BadRecords, IncludeThoseWithAWrongChecksum) {
  const Folder folder;
  {
    LmdbWriter writer(folder / "db");
    for (int i = 0; i < 4 * kBatch; ++i) writer.put(key_of(i), make_datum(1, 64, 80, std::string(5120, char(i)), i));
    writer.commit();
  }
  std::string bytes = read_file(folder / "db/data.mdb");
  bytes[bytes.find(std::string(5000, char(13)))] ^= 1;
  write_file(folder / "db/data.mdb", bytes);
  for (const CacheOn cache : {CacheOn::kNowhere, CacheOn::kHost}) {
    PipelineOptions options = options_for(folder / "db", 1);
    options.cache = cache;
    DataPipeline pipeline(options);
    for (int batch = 0; batch < 4; ++batch) {
      const std::vector<float> labels = read_labels(pipeline);
      for (int i = 0; i < kBatch; ++i) {
        const int number = batch * kBatch + i;
        EXPECT_EQ(labels[size_t(i)], float(number == 13 ? 14 : number));
      }
    }
  }
  DataPipeline strict(options_for(folder / "db", 0));
  read_labels(strict);
  expect_error([&] { read_labels(strict); }, ExitCode::kData, "record '10013': it does not match its checksum");
}

TEST(BadRecords, OnlyBadRecordsAreAnError) {
  const Folder folder;
  Records records;
  for (int i = 0; i < kRecords; ++i) records[key_of(i)] = "no datum";
  write_with_library(folder / "db", records);
  for (const int64_t most : {1, 1000})
    expect_error(
        [&] {
          DataPipeline pipeline(options_for(folder / "db", most));
          for (int batch = 0; batch < 9; ++batch) read_labels(pipeline);
        },
        ExitCode::kData, "record '");
}

}  // namespace
}  // namespace cortado::data::testing
