#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/shuffled_order.h"
#include "data/source.h"

namespace cortado::data {

enum class Shuffle {
  kNone,    ///< by number
  kAuto,    ///< kExact where the file takes up to 60 % of the machine's memory, else kBlocks
  kExact,   ///< an exact new permutation each epoch: needs random reads to be cheap
  kBlocks,  ///< data/shuffled_order.h: blocks of about 16 MB, eight to a pool
};

struct OrderOptions {
  Shuffle shuffle = Shuffle::kNone;
  uint64_t seed = 1;
  int rank = 0, ranks = 1;  ///< of several that share one order: this one takes every ranks-th record, from `rank` on
};

/// In which order the records of a source are taken. Counts its own positions over all epochs; position p is place
/// p * ranks + rank of the order that all ranks share, and place q is record q % records() of epoch q / records(). So
/// the order from any position on is a function of (seed, position) alone. Not thread-safe.
class RecordOrder {
 public:
  RecordOrder(std::shared_ptr<const DataSource> source, const OrderOptions& options);
  RecordOrder(const RecordOrder&) = delete;

  void seek(uint64_t position) { position_ = position; }
  Record next();  ///< the record at position(), which then moves on. Throws Error(kData)
  uint64_t position() const { return position_; }
  uint64_t place(uint64_t position) const { return position * uint64_t(ranks_) + uint64_t(rank_); }
  int64_t records() const { return source_->records(); }

 private:
  void begin();

  std::shared_ptr<const DataSource> source_;
  std::unique_ptr<RecordFinder> finder_;  ///< made with the first next()
  Shuffle shuffle_;
  uint64_t seed_;
  int rank_, ranks_;
  uint64_t position_ = 0;
  std::optional<ShuffledOrder> shuffled_;
};

}  // namespace cortado::data
