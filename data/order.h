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
};

/// In which order the records of a source are taken: place p is record p % records() of epoch p / records(), so what is
/// there is a function of (seed, place) alone. Cheap while places come from first to last. Not thread-safe.
class RecordOrder {
 public:
  RecordOrder(std::shared_ptr<const DataSource> source, const OrderOptions& options);
  RecordOrder(const RecordOrder&) = delete;

  Record at(uint64_t place);  ///< throws Error(kData)
  int64_t records() const { return source_->records(); }

 private:
  void begin();

  std::shared_ptr<const DataSource> source_;
  std::unique_ptr<RecordFinder> finder_;  ///< made with the first next()
  Shuffle shuffle_;
  uint64_t seed_;
  std::optional<ShuffledOrder> shuffled_;
};

}  // namespace cortado::data
