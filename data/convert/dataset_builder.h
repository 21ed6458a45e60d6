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

/// What all converters do: write records, count, collect what was rejected, and keep the database or not.
class DatasetBuilder {
 public:
  /// `total`: samples expected, or -1.
  DatasetBuilder(const ConvertOptions& options, int64_t total, DatasetNames names = {});

  /// Adds a record. `shape` is the sample's (only its extents count; 0 channels: not known).
  void add(std::string_view key, std::string_view datum, int32_t label, const Sample& shape);
  /// `image`: what the line names, if it is to blame.
  void reject(const std::string& file, int64_t line, const std::string& reason, const std::string& image = {});

  /// Puts the database in place unless there were bad samples and they may not be skipped, or there is no good one.
  /// Throws Error(kData) when there was nothing at all.
  ConvertReport finish();

 private:
  struct Kind {
    int64_t count = 0;
    std::string first_reason;
  };

  void count(int32_t label, const Sample& shape);
  void widen(const Sample& shape);
  bool may_keep() const;
  void tick();

  const ConvertOptions& options_;
  LmdbWriter writer_;
  ConvertReport report_;
  int64_t total_, done_ = 0;
  bool labels_countable_ = true;       ///< all so far are 0 to kMaxLabels - 1
  std::map<std::string, Kind> kinds_;  ///< of rejects
};

/// `number` with leading zeros, as Caffe's tools write keys.
std::string number_key(int64_t number, int digits);

/// Which of the samples with these labels go to the test set: of each class that share, rounded, at least one where
/// there are two, never all. A function of (seed, label, order of the samples).
std::vector<bool> choose_tests(const std::vector<int32_t>& labels, double share, uint64_t seed);

}  // namespace cortado::data
