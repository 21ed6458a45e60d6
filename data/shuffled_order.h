#pragma once

// A new order of records for every epoch, as a function of (seed, epoch, index). Records stand in blocks of neighbours;
// the blocks are permuted, a few of them at a time make a pool, and the records of a pool are permuted. With one block
// of all records that is an exact permutation. With blocks of megabytes a disk is read in long runs, and a record is
// still about as likely to stand beside any other.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cortado::data {

class ShuffledOrder {
 public:
  /// Called with the first record of a block and the number of its records, before any of them is asked for: now, or
  /// when the pool before this one is begun.
  using OnBlock = std::function<void(uint64_t first, uint64_t count)>;

  ShuffledOrder(uint64_t records, uint64_t block_records, uint64_t pool_blocks, uint64_t seed, OnBlock on_block = {});

  /// Which record, counted in key order, is at `index` of `epoch`. Cheap while pools are read from first to last.
  uint64_t at(uint64_t epoch, uint64_t index);

 private:
  void begin_epoch(uint64_t epoch);
  void begin_pool(uint64_t pool);
  void announce(uint64_t pool) const;
  uint64_t pools() const { return starts_.size() - 1; }
  uint64_t size_of_block(uint64_t block) const;

  uint64_t records_, block_records_, pool_blocks_, seed_;
  OnBlock on_block_;
  std::optional<uint64_t> epoch_, pool_;
  std::vector<uint32_t> blocks_;  ///< in this epoch's order
  std::vector<uint64_t> starts_;  ///< index at which each pool begins, and the end
  std::vector<uint32_t> pool_records_;
};

}  // namespace cortado::data
