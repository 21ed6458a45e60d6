#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/lmdb.h"

namespace cortado::data {

/// In which order the records of a database are taken: key order, or an exact new permutation each epoch. Counts
/// positions over all epochs: position p is record p % records() of epoch p / records(), so the order from any position
/// on is a function of (seed, position) alone. Not thread-safe.
class RecordOrder {
 public:
  RecordOrder(std::shared_ptr<const Lmdb> database, bool shuffle, uint64_t seed);

  void seek(uint64_t position);
  Record next();  ///< the record at position(), which then moves on. Throws Error(kData)
  uint64_t position() const { return position_; }
  int64_t records() const { return database_->records(); }
  const Lmdb& database() const { return *database_; }

 private:
  void read_places();
  void shuffle_epoch(uint64_t epoch);

  std::shared_ptr<const Lmdb> database_;
  LmdbCursor cursor_;
  bool shuffle_;
  uint64_t seed_;
  uint64_t position_ = 0;
  std::vector<uint64_t> places_;       ///< of every record; read once, when shuffling
  std::vector<uint32_t> permutation_;  ///< of the epoch `shuffled_epoch_`
  std::optional<uint64_t> shuffled_epoch_;
};

}  // namespace cortado::data
