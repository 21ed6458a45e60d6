#pragma once

// The order in which the shards of an iteration are summed: a binary tree over their numbers. The left half of an inner
// node over n shards has the largest power of two below n. The tree depends only on the number of shards, so a sum has
// the same bits no matter which rank computes which part of it.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cortado::ranks {

/// The sum over shards [first, first + count), a node of the tree; `count` is a power of two that divides `first`.
struct Block {
  int64_t first = 0, count = 1;
  bool operator==(const Block&) const = default;

  /// Whether `next` is the right half of the node whose left half this is.
  bool joins(const Block& next) const {
    return count == next.count && first + count == next.first && first % (2 * count) == 0;
  }
};

/// Shards [first, first + count) of one rank.
struct ShardRange {
  int64_t first = 0, count = 1;
  bool operator==(const ShardRange&) const = default;
};

/// The shards of rank `rank`: `ranks` ranks, no more than shards, share them as evenly as possible.
inline ShardRange range_of(int rank, int ranks, int64_t shards) {
  const int64_t begin = rank * shards / ranks, end = (rank + 1) * shards / ranks;
  return {begin, end - begin};
}

/// The smallest list of blocks, in order, that sum a range without the other shards.
std::vector<Block> blocks_of(const ShardRange& range);

/// Adds blocks that cover all shards, in order: calls add(to, from) for pairs of indices, until block 0 is the sum of
/// all.
template <typename Add>
void fold(std::vector<Block> blocks, const Add& add) {
  std::vector<size_t> open;  // nodes whose other half is not complete
  const auto join = [&] {
    const size_t from = open.back();
    open.pop_back();
    blocks[open.back()].count += blocks[from].count;
    add(open.back(), from);
  };
  for (size_t i = 0; i < blocks.size(); ++i) {
    open.push_back(i);
    while (open.size() > 1 && blocks[open[open.size() - 2]].joins(blocks[open.back()])) join();
  }
  while (open.size() > 1) join();
}

}  // namespace cortado::ranks
