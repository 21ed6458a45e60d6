#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/convert/convert.h"
#include "data/lmdb/lmdb_writer.h"
#include "data/sample.h"

namespace cortado::data {

/// The common part of all converters: writes records, counts them, collects rejected samples, and commits or discards
/// the database.
class DatasetBuilder {
 public:
  /// `total`: number of expected samples, or -1.
  DatasetBuilder(const ConvertOptions& options, int64_t total, DatasetNames names = {});

  /// Adds a record. `shape` is the sample's; only its dimensions are used, and 0 channels means unknown.
  void add(std::string_view key, std::string_view datum, Label label, const Sample& shape);
  /// `image`: the one that the line names, if the image is bad.
  void reject(const std::string& file, int64_t line, const std::string& reason, const std::string& image = {});

  /// Commits the database, unless there were bad samples that may not be skipped, or no good one. Throws Error(kData)
  /// if there were no samples at all.
  ConvertReport finish();

 private:
  struct Kind {
    int64_t count = 0;
    std::string first_reason;
  };

  void count(Label label, const Sample& shape);
  void widen(const Sample& shape);
  bool may_keep() const;
  void tick();

  const ConvertOptions& options_;
  LmdbWriter writer_;
  ConvertReport report_;
  int64_t total_, done_ = 0;
  bool labels_countable_ = true;       ///< all labels so far are 0 to kMaxLabels - 1
  std::map<std::string, Kind> kinds_;  ///< of rejected samples
};

/// `number` with leading zeros, as in the keys of Caffe's tools.
std::string number_key(int64_t number, int digits);

/// Chooses the test samples: this fraction of each class, rounded, at least one if there are two, never all. Depends on
/// (seed, label, order of the samples).
std::vector<bool> choose_tests(const std::vector<int32_t>& labels, double share, uint64_t seed);

}  // namespace cortado::data
