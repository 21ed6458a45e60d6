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
  kAuto,    ///< kExact if the file has up to 60 % of the machine's memory, otherwise kBlocks
  kExact,   ///< a new exact permutation each epoch; requires cheap random reads
  kBlocks,  ///< data/shuffled_order.h: blocks of about 16 MB, eight per pool
};

struct OrderOptions {
  Shuffle shuffle = Shuffle::kNone;
  uint64_t seed = 1;
};

/// The order of a source's records: place p is record p % records() of epoch p / records(). The record depends on
/// (seed, place) only. Sequential access is cheap. Not thread-safe.
class RecordOrder {
 public:
  RecordOrder(std::shared_ptr<const DataSource> source, const OrderOptions& options);
  RecordOrder(const RecordOrder&) = delete;

  Record at(uint64_t place);  ///< throws Error(kData)
  int64_t records() const { return source_->records(); }

 private:
  void begin();

  std::shared_ptr<const DataSource> source_;
  std::unique_ptr<RecordFinder> finder_;  ///< created by the first next()
  Shuffle shuffle_;
  uint64_t seed_;
  std::optional<ShuffledOrder> shuffled_;
};

}  // namespace cortado::data
