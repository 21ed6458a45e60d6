#pragma once

// Unusable records. By default the first one ends the program. A pipeline that may skip some replaces a bad record by
// the next good one of the dataset, by number. So a batch still depends on the dataset and the position only,
// regardless of threads, and a resumed training reads the same. Each bad record is counted once, even if it is met
// again. It is reported with the first batch in which it was replaced.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"

namespace cortado::data {

/// A bad record that was found while a batch was read.
struct BadRecord {
  int sample = 0;       ///< index in the batch of the sample that replaces it
  uint64_t number = 0;  ///< of the record
  Error error;          ///< what is wrong with it
};

/// The bad records that a pipeline has found.
class BadRecords {
 public:
  explicit BadRecords(int64_t most) : most_(most) {}

  bool passes_over() const { return most_ > 0; }
  int64_t most() const { return most_; }

  /// Adds the bad records of a batch, in the order of its samples, and warns about new ones. Throws Error(kData) for
  /// the first one beyond the limit.
  void take(std::vector<BadRecord>& met);

 private:
  int64_t most_;
  std::set<uint64_t> known_;
};

}  // namespace cortado::data
