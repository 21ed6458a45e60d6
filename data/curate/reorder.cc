// Copies a database in another order, or splits it into two.
#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/rng.h"
#include "data/convert/dataset_builder.h"
#include "data/convert/two_sets_folder.h"
#include "data/curate/curate.h"
#include "data/curate/records.h"
#include "data/lmdb/lmdb_writer.h"

namespace cortado::data {

namespace {

/// Numbers if classes have no names.
DatasetNames names_or_numbers(const Records& records, const std::vector<int32_t>& labels) {
  DatasetNames names = read_names(records.database().path());
  const auto [least, most] = std::minmax_element(labels.begin(), labels.end());
  constexpr int32_t kMaxNames = 100000;
  if (!names.labels.empty() || records.annotated() || *least < 0 || *most >= kMaxNames) return names;
  for (int32_t label = 0; label <= *most; ++label) names.labels += std::to_string(label) + "\n";
  return names;
}

}  // namespace

int64_t shuffle_dataset(const std::string& lmdb, uint64_t seed, const CurateOptions& options) {
  const Records records(lmdb);
  records.database().expect_random_reads();
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t(0));
  RandomStream random(seed);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  LmdbWriter writer(options.output, options.force, read_names(lmdb));
  for (size_t i = 0; i < order.size(); ++i) {
    const Record record = records[order[i]];
    records.label(order[i]);  // reports unreadable records now
    writer.put(renumbered(int64_t(i), record.key), record.value);
    if (options.progress && i % 256 == 0) options.progress(int64_t(i), int64_t(order.size()));
  }
  records.database().check_unchanged();
  writer.commit();
  return writer.records();
}

SplitCounts split_dataset(const std::string& lmdb, double test_share, uint64_t seed, const CurateOptions& options) {
  const Records records(lmdb);
  const std::vector<Label> labels = records.labels();
  const bool are_classes = std::all_of(labels.begin(), labels.end(), is_class);
  const std::vector<int32_t> classes = are_classes ? std::vector<int32_t>(labels.begin(), labels.end())
                                                   : std::vector<int32_t>(labels.size());  // for regression: one class
  const std::vector<bool> tests = choose_tests(classes, test_share, seed);
  if (std::find(tests.begin(), tests.end(), true) == tests.end())
    throw file_error(ExitCode::kData, lmdb, "no class has two records, one for training and one for testing");
  TwoSetsFolder folder(options.output, options.force);
  LmdbWriter train(folder.part(kTrainPart)), test(folder.part(kTestPart));
  for (size_t i = 0; i < records.size(); ++i) {
    const Record record = records[i];
    (tests[i] ? test : train).put(record.key, record.value);
    if (options.progress && i % 256 == 0) options.progress(int64_t(i), int64_t(records.size()));
  }
  records.database().check_unchanged();
  train.commit();
  test.commit();
  folder.commit(are_classes ? names_or_numbers(records, classes) : read_names(lmdb));
  return {train.records(), test.records()};
}

}  // namespace cortado::data
