#pragma once

// Where the bytes of a part that ranks sum up lie while they go from rank to rank: first each rank gets its slice of
// all blocks of all others, then all get the slices' sums.

#include <cstddef>
#include <vector>

#include "ranks/shard_tree.h"
#include "ranks/slices.h"

namespace cortado::ranks {

class ExchangePlaces {
 public:
  ExchangePlaces(int rank, int ranks, int64_t shards);

  /// Sets the lists, as Engine's functions take them, for one part.
  void set(const FloatRange& part);
  std::vector<size_t> send, receive;  ///< of all_to_all()
  std::vector<size_t> gather;         ///< of all_gather()

  int ranks() const { return ranks_; }
  FloatRange slice(const FloatRange& part, int rank) const { return slice_of(part, rank, ranks_); }
  FloatRange own_slice(const FloatRange& part) const { return slice(part, rank_); }
  const std::vector<Block>& all_blocks() const { return all_blocks_; }  ///< of all ranks, in the shards' order

  /// copy(to, block, from) for what all_to_all() sends of a part where a rank has several blocks: of each rank, its
  /// slice of all blocks of this one, block after block. `to` counts floats, from 0.
  template <typename Copy>
  void pack(const FloatRange& part, const Copy& copy) const {
    int64_t to = 0;
    for (int rank = 0; rank < ranks_; ++rank)
      for (size_t block = 0; block < blocks_[size_t(rank_)].size(); ++block) {
        const FloatRange theirs = slice(part, rank);
        copy(to, block, theirs);
        to += theirs.count();
      }
  }

 private:
  int rank_, ranks_;
  std::vector<std::vector<Block>> blocks_;  ///< per rank
  std::vector<Block> all_blocks_;
};

}  // namespace cortado::ranks
