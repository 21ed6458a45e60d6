#pragma once

// A new order of records for every epoch, as a function of (seed, epoch, index). Neighbouring records form blocks. The
// blocks are permuted, a few consecutive ones form a pool, and the records of a pool are permuted. A single block of
// all records yields an exact permutation. With blocks of megabytes a disk is read sequentially, and any two records
// are still about equally likely to be adjacent.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cortado::data {

class ShuffledOrder {
 public:
  /// Called with the first record of a block and the number of its records before any of them is needed: immediately,
  /// or when the previous pool is started.
  using OnBlock = std::function<void(uint64_t first, uint64_t count)>;

  ShuffledOrder(uint64_t records, uint64_t block_records, uint64_t pool_blocks, uint64_t seed, OnBlock on_block = {});

  /// The record, in key order, at `index` of `epoch`. Sequential access within pools is cheap.
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
  std::vector<uint64_t> starts_;  ///< index of the start of each pool, and the end
  std::vector<uint32_t> pool_records_;
};

}  // namespace cortado::data
