#pragma once

// Records that cannot be used. Usually the first one ends the program. A pipeline that may pass over some puts into a
// bad record's place the next good one of the dataset, by number, so that a batch stays a function of the dataset and
// the position: which thread met it does not matter, and a resumed training reads the same. Each is counted once,
// however often its turn comes, and named when the first batch that misses it is given.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"

namespace cortado::data {

/// One that was met while a batch was made.
struct BadRecord {
  int sample = 0;       ///< of the batch that has another one in its place
  uint64_t number = 0;  ///< of the record
  Error error;          ///< what is wrong with it
};

/// Those that a pipeline has met.
class BadRecords {
 public:
  explicit BadRecords(int64_t most) : most_(most) {}

  bool passes_over() const { return most_ > 0; }
  int64_t most() const { return most_; }

  /// Takes in what making a batch met, in the order of its samples, and warns of what is new. Throws Error(kData) for
  /// the first that is one too many.
  void take(std::vector<BadRecord>& met);

 private:
  const int64_t most_;
  std::set<uint64_t> known_;
};

}  // namespace cortado::data
